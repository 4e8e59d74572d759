package main

import (
	"errors"
	"io"
	"log/slog"

	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// What an operator sees of a host beside what its parts show by themselves.

// Formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

// logger writes the log of a host as its options say.
func (o *serveOptions) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: o.level}
	if o.logFormat == logJSON {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// measure adds what the process itself knows to the metrics: the Go runtime, the
// process, and what was built.
func (s *server) measure(r prometheus.Registerer) error {
	b := thisBuild()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "causeway", Name: "build_info", Help: "1, with what this program was built from.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go, "protocol": b.Protocol},
	})
	info.Set(1)
	return errors.Join(
		r.Register(info), r.Register(collectors.NewGoCollector()),
		r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	)
}

// checks are what /healthz looks at beside the host.
func (s *server) checks() []endpoint.Check {
	return []endpoint.Check{{
		Name:   "notifications",
		Reason: "notifications cannot be stored, or one is far too late; the log says why",
		Look:   s.notifier.engine.Health,
	}}
}
