package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

var updateMetrics = flag.Bool("update-metrics", false, "write docs/METRICS.md anew")

// builtServer is a host with everything around it, which does not listen for long
// enough to be found.
func builtServer(t *testing.T, o serveOptions) *server {
	t.Helper()
	d := stateDir(t)
	o.listen, o.cwd = "127.0.0.1:0", d.Path()
	claim, err := claimDir(testContext(t), d)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{options: &o, dir: d, log: slog.New(slog.DiscardHandler), claim: claim}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	if err := s.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := s.shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := s.closeNotifier(ctx); err != nil {
			t.Error(err)
		}
		_ = s.closeListeners() // which the endpoint has closed, if it served
		if err := claim.Release(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// documented is one metric as docs/METRICS.md has it.
type documented struct{ name, kind, labels, help string }

func (d documented) String() string {
	return fmt.Sprintf("| `%s` | %s | %s | %s |", d.name, d.kind, d.labels, strings.ReplaceAll(d.help, "|", `\|`))
}

var descText = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), (?:unit: "[^"]*", )?constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// metricsOf lists what a host shows, but for what the Go runtime and the process do.
func metricsOf(t *testing.T, r *prometheus.Registry) (list []documented) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]string)
	for _, f := range families {
		kinds[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		r.Describe(descs)
	}()
	for desc := range descs {
		m := descText.FindStringSubmatch(desc.String())
		if m == nil {
			t.Fatalf("cannot read %v", desc)
		}
		d := documented{labels: labelNames(m[3], m[4])}
		d.name, _ = strconv.Unquote(m[1])
		d.help, _ = strconv.Unquote(m[2])
		if strings.HasPrefix(d.name, "go_") || strings.HasPrefix(d.name, "process_") {
			continue
		}
		if d.kind = kinds[d.name]; d.kind == "" && strings.HasSuffix(d.name, "_total") {
			d.kind = "counter" // none of its labels has been seen yet
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b documented) int { return cmp.Compare(a.name, b.name) })
	return list
}

func labelNames(constant, variable string) string {
	var names []string
	for pair := range strings.SplitSeq(constant, ",") {
		if name, _, ok := strings.Cut(pair, "="); ok {
			names = append(names, name)
		}
	}
	for name := range strings.SplitSeq(variable, ",") {
		if name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "–"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

const (
	metricsDoc   = "../../docs/METRICS.md"
	metricsBegin = "<!-- metrics: begin -->\n"
	metricsEnd   = "<!-- metrics: end -->\n"
)

// TestMetricsAreDocumented holds docs/METRICS.md against what a host shows: nothing is
// missing there, and nothing stands there that is not any more.
func TestMetricsAreDocumented(t *testing.T) {
	table := "| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n"
	for _, d := range metricsOf(t, builtServer(t, serveOptions{}).host.Metrics()) {
		if d.kind == "" {
			t.Errorf("%s shows nothing at first: give it its labels when it is made", d.name)
		}
		table += d.String() + "\n"
	}
	data, err := os.ReadFile(metricsDoc)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), metricsBegin)
	old, tail, ok2 := strings.Cut(rest, metricsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", metricsDoc)
	}
	if old == table {
		return
	}
	if *updateMetrics {
		if err := os.WriteFile(metricsDoc, []byte(head+metricsBegin+table+metricsEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("docs/METRICS.md is not what a host shows; go test ./cmd/causeway -run TestMetricsAreDocumented -update-metrics writes it anew")
	for line := range strings.Lines(table) {
		if !strings.Contains(old, line) {
			t.Errorf("missing: %s", line)
		}
	}
	for line := range strings.Lines(old) {
		if !strings.Contains(table, line) {
			t.Errorf("stale: %s", line)
		}
	}
}

// TestOperatorsPageNamesRealMetrics holds the alerts and samples of docs/OPERATING.md
// against what there is.
func TestOperatorsPageNamesRealMetrics(t *testing.T) {
	page, err := os.ReadFile("../../docs/OPERATING.md")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, d := range metricsOf(t, builtServer(t, serveOptions{}).host.Metrics()) {
		known[d.name] = true
	}
	names := regexp.MustCompile(`causeway_[a-z_]+`).FindAllString(string(page), -1)
	if len(names) < 5 {
		t.Fatalf("the page names %d metrics", len(names))
	}
	for _, name := range names {
		if !known[strings.TrimSuffix(name, "_bucket")] {
			t.Errorf("%s does not exist", name)
		}
	}
}

// TestMetricsFollowTheConventions holds what is shown, as text, against the rules of
// Prometheus for names, units and help texts: by the library's lint, and by promtool
// where that is installed.
func TestMetricsFollowTheConventions(t *testing.T) {
	s := builtServer(t, serveOptions{})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/metrics", nil)
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer := httptest.NewRecorder()
	s.endpoint.ServeHTTP(answer, r)
	text := answer.Body.String()
	if answer.Code != http.StatusOK || !strings.Contains(text, "\n# TYPE causeway_connections gauge\n") {
		t.Fatalf("got %d %.300s", answer.Code, text)
	}
	t.Run("lint", func(t *testing.T) {
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if !strings.HasPrefix(p.Metric, "go_") { // the library's own
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
	})
	t.Run("promtool", func(t *testing.T) {
		tool, err := exec.LookPath("promtool")
		if err != nil {
			t.Skip("promtool is not installed; the same rules are checked by the library")
		}
		cmd := exec.CommandContext(t.Context(), tool, "check", "metrics")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
