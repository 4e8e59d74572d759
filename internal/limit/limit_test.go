package limit

import (
	"testing"
	"time"
)

// What a row shows can be written back, and what it refuses leaves it as it was.
func TestRow(t *testing.T) {
	var count int
	var size int64
	var wait time.Duration
	rows := map[string]*Row{
		"count": {Name: "count", Value: &count, Unit: "sessions"},
		"size":  {Name: "size", Value: &size, Unit: Bytes},
		"wait":  {Name: "wait", Value: &wait},
	}
	for _, tt := range []struct{ row, text, want string }{
		{"count", "7", "7 sessions"},
		{"count", "-1", ""},
		{"count", "0", ""},
		{"count", "7KiB", ""},
		{"size", "1000", "1000 bytes"},
		{"size", "1024", "1 KiB"},
		{"size", "3 MiB", "3 MiB"},
		{"size", "1536KiB", "1536 KiB"},
		{"size", "9223372036854775807", "9223372036854775807 bytes"},
		{"size", "8589934592GiB", ""}, // more than an int64 holds
		{"size", "1.5MiB", ""},
		{"wait", "90s", "1m30s"},
		{"wait", "15m", "15m"},
		{"wait", "2h", "2h"},
		{"wait", "0s", ""},
		{"wait", "5", ""},
	} {
		r := rows[tt.row]
		before := r.String()
		err := r.Set(tt.text)
		switch got := r.String(); {
		case tt.want == "" && (err == nil || got != before):
			t.Errorf("%s=%s: %v, and it is %s", tt.row, tt.text, err, got)
		case tt.want != "" && (err != nil || got != tt.want):
			t.Errorf("%s=%s: %v, and it is %s, want %s", tt.row, tt.text, err, got, tt.want)
		}
	}
	fixed := Row{Name: "fixed", Value: &count, Unit: "levels", Fixed: true}
	if err := fixed.Set("1"); err == nil || count != 7 {
		t.Errorf("a fixed one: %v, %d", err, count)
	}
	count = -1
	if got := rows["count"].String(); got != "off" {
		t.Errorf("one that is off shows %q", got)
	}
	if got, want := rows["count"].Metric(), `causeway_limit_hits_total{limit="count"}`; got != want {
		t.Errorf("it is counted by %s, want %s", got, want)
	}
}
