package measure

import (
	"strings"
	"testing"
	"time"
)

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234567: "1,234,567", 999: "999", 1000: "1,000"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestPercentiles(t *testing.T) {
	if got := Percentile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	samples := make([]time.Duration, 100)
	for i := range samples {
		samples[99-i] = time.Duration(i + 1)
	}
	for p, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := Percentile(samples, p); got != want {
			t.Errorf("Percentile(%v) = %d, want %d", p, got, want)
		}
	}
}

func TestATableNamesMissingPeers(t *testing.T) {
	r := NewReport("v1")
	r.Add(Figure{Name: "throughput", Value: 812, Unit: "MB/s", Goal: ">= 1.0 x ssh", Peer: "ssh -L", Note: "not installed"})
	r.Add(Figure{Name: "relay", Value: 1234567, Unit: "/s", Goal: ">= 1.3 x", Peer: "NATS", Ratio: 1.5})
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ssh -L: not installed", "1.50 x NATS", "1,234,567 /s", "v1"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := r.WriteJSON(&b); err != nil || strings.Count(b.String(), "\n") != 2 {
		t.Errorf("JSON: %v\n%s", err, b.String())
	}
}
