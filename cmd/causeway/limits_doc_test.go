package main

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/internal/limit"
)

var updateLimits = flag.Bool("update-limits", false, "write docs/LIMITS.md anew")

const (
	limitsDoc   = "../../docs/LIMITS.md"
	limitsBegin = "<!-- limits: begin -->\n"
	limitsEnd   = "<!-- limits: end -->\n"
)

// TestLimitsAreDocumented holds docs/LIMITS.md against the rows the code has.
func TestLimitsAreDocumented(t *testing.T) {
	table := "| `--limit` | Default | Bounds | At the bound | Counter | In Go | Source |\n|---|---|---|---|---|---|---|\n"
	for _, r := range new(limitOptions).defaults().rows() {
		value := r.String()
		if r.Fixed {
			value += ", fixed"
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s | `%s` | `%s` | %s |\n", r.Name, value, r.Bounds, r.Policy, r.Metric(), r.Field, r.Source)
	}
	data, err := os.ReadFile(limitsDoc)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), limitsBegin)
	old, tail, ok2 := strings.Cut(rest, limitsEnd)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no place for the table", limitsDoc)
	case old == table:
	case *updateLimits:
		if err := os.WriteFile(limitsDoc, []byte(head+limitsBegin+table+limitsEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("docs/LIMITS.md is stale; go test ./cmd/causeway -run TestLimitsAreDocumented -update-limits writes it anew")
	}
}

var counterForm = regexp.MustCompile(`^(causeway_[a-z_]+)(?:\{([a-z]+)="[a-z-]+"\})?$`)

// TestLimitsNameRealCounters holds the counters of the table against what a host shows.
func TestLimitsNameRealCounters(t *testing.T) {
	known := make(map[string]documented)
	for _, d := range metricsOf(t, builtServer(t, serveOptions{}).host.Metrics()) {
		known[d.name] = d
	}
	for _, r := range new(limitOptions).defaults().rows() {
		m := counterForm.FindStringSubmatch(r.Metric())
		if m == nil {
			t.Errorf("%s: %s is no counter", r.Name, r.Metric())
			continue
		}
		d, ok := known[m[1]]
		if !ok || d.kind != "counter" || m[2] != "" && !strings.Contains(d.labels, "`"+m[2]+"`") {
			t.Errorf("%s is counted by %s, which a host does not have; it has %v", r.Name, r.Metric(), d)
		}
	}
}

// goTypes are the packages whose limits stand in the table, with what holds them. Sizes
// of work at which nothing happens to anybody are no limits.
func goTypes(o *limitOptions) map[string]any {
	return map[string]any{"host.Limits": &o.host, "service.Limits": &o.service, "tcp.Limits": &o.tcp, "session.Limits": &o.session}
}

var noLimits = map[string]string{"host.Limits.BatchBytes": "how much one write takes: what is more goes with the next"}

// TestEveryLimitHasARow finds fields of the bounds that the table leaves out, rows that
// name a field they do not point to, and names that come twice.
func TestEveryLimitHasARow(t *testing.T) {
	o := new(limitOptions).defaults()
	rows := make(map[string]limit.Row)
	names := make(map[string]bool)
	for _, r := range o.rows() {
		if names[r.Name] {
			t.Errorf("two limits are called %s", r.Name)
		}
		names[r.Name], rows[r.Field] = true, r
		if r.Bounds == "" || r.Policy == "" || r.Source == "" {
			t.Errorf("%s does not say all", r.Name)
		}
	}
	for name, p := range goTypes(o) {
		v := reflect.ValueOf(p).Elem()
		for i := range v.NumField() {
			field := name + "." + v.Type().Field(i).Name
			r, ok := rows[field]
			switch {
			case noLimits[field] != "" && !ok:
			case !ok:
				t.Errorf("%s has no row", field)
			case r.Value != v.Field(i).Addr().Interface():
				t.Errorf("the row of %s points elsewhere", field)
			case v.Field(i).IsZero():
				t.Errorf("%s has no default", field)
			}
		}
	}
}

// TestLimitFlag sets limits as a user does.
func TestLimitFlag(t *testing.T) {
	o := limitOptions{texts: []string{"outbox-bytes=3MiB", "sessions=7", "handshake-timeout=1m30s", "service-rate=5", "message-bytes=1024", "tcp-per-connection=2"}}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	if o.host.OutboxBytes != 3<<20 || o.host.Sessions != 7 || o.host.HandshakeTimeout.Seconds() != 90 || o.service.Rate != 5 || o.socket.MaxMessageBytes != 1024 || o.tcp.PerClient != 2 {
		t.Errorf("got %+v", o)
	}
	for text, want := range map[string]string{
		"nonsense":                  "not of the form name=value",
		"nonsense=1":                "there is no limit \"nonsense\"; there are active-client-grace,",
		"sessions=0":                "sessions is a number above zero, such as 100000",
		"sessions=1MiB":             "sessions is a number above zero",
		"outbox-bytes=-1":           "outbox-bytes is a number above zero, such as 32MiB",
		"outbox-bytes=9e9":          "outbox-bytes is a number",
		"handshake-timeout=5":       "handshake-timeout is a duration above zero, such as 30s",
		"ring-bytes=99999999999GiB": "ring-bytes is a number",
		"message-depth=5":           "message-depth is 128 levels, always",
	} {
		if err := (&limitOptions{texts: []string{text}}).check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--limit %s: %v, want %q", text, err, want)
		}
	}
}

// TestEveryLimitCanBeSet sets each limit to the value it shows.
func TestEveryLimitCanBeSet(t *testing.T) {
	o := new(limitOptions).defaults()
	for _, r := range o.rows() {
		if r.Fixed {
			continue
		}
		text := r.String()
		if r.Unit != limit.Bytes {
			text, _, _ = strings.Cut(text, " ")
		}
		if text == "off" {
			text = "1"
		}
		text = strings.TrimSuffix(text, " bytes")
		if err := r.Set(text); err != nil {
			t.Error(err)
		}
	}
}
