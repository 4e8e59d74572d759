package telemetry

import (
	"context"
	"log/slog"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// record is a log record with its level.
type record struct {
	level slog.Level
	log   logRecord
}

// Handler returns a handler that gives records to next and to whoever watches. Records
// below next's level reach those who watch such a level. While nobody watches it costs
// a comparison.
func (f *Feature) Handler(next slog.Handler) slog.Handler { return &handler{f: f, next: next} }

type handler struct {
	f      *Feature
	next   slog.Handler
	group  string // with a dot behind it
	common []attribute
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool {
	return int64(l) >= h.f.level.Load() || h.next.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if int64(r.Level) >= h.f.level.Load() {
		h.f.put(logs, h.record(r))
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

func (h *handler) record(r slog.Record) record {
	all := h.common[:len(h.common):len(h.common)]
	r.Attrs(func(a slog.Attr) bool {
		all = appendAttr(all, h.group, a)
		return true
	})
	severity, name := severityOf(r.Level)
	return record{r.Level, logRecord{
		Time: unixNano(r.Time), Observed: unixNano(time.Now()), Severity: severity, Level: name,
		Body: anyValue{String: &r.Message}, Attributes: all,
	}}
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(list []slog.Attr) slog.Handler {
	next := *h
	next.next = h.next.WithAttrs(list)
	next.common = h.common[:len(h.common):len(h.common)]
	for _, a := range list {
		next.common = appendAttr(next.common, h.group, a)
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	next := *h
	next.next = h.next.WithGroup(name)
	if name != "" {
		next.group += name + "."
	}
	return &next
}

// severityOf is a level in the numbers of OTLP, which go by fours as those of slog do.
func severityOf(l slog.Level) (number int, text string) {
	number = min(max(int(l)+9, 1), 24)
	return number, [...]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}[(number-1)/4]
}

func appendAttr(list []attribute, group string, a slog.Attr) []attribute {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			list = appendAttr(list, group, inner)
		}
		return list
	}
	if a.Key == "" {
		return list
	}
	return append(list, attribute{group + a.Key, valueOf(v)})
}

func valueOf(v slog.Value) anyValue {
	switch v.Kind() {
	case slog.KindBool:
		b := v.Bool()
		return anyValue{Bool: &b}
	case slog.KindInt64:
		i := integer(v.Int64())
		return anyValue{Int: &i}
	case slog.KindFloat64:
		if d := v.Float64(); finite(d) {
			return anyValue{Double: &d}
		}
	}
	s := v.String() // errors, durations and times too; unsigned integers may be too large for Int
	return anyValue{String: &s}
}

// sendLogs sends each channel what has its level.
func (f *Feature) sendLogs(list []record) {
	for _, channel := range f.channels() {
		lowest, ok := levelOf(channel)
		if !ok {
			continue
		}
		var wanted []logRecord
		for _, r := range list {
			if r.level >= lowest {
				wanted = append(wanted, r.log)
			}
		}
		if len(wanted) > 0 {
			f.send(logs, channel, wanted)
		}
	}
}

// channels lists those that are watched.
func (f *Feature) channels() []ahp.URI {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []ahp.URI
	for channel := range f.watchers {
		list = append(list, channel)
	}
	return list
}
