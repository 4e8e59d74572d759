package flow_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/causeway-ahp/causeway/flow"
)

func TestLimitsValidate(t *testing.T) {
	for _, c := range []struct {
		limits flow.Limits
		want   error
	}{
		{flow.Limits{WindowBytes: 1, MaxFrameBytes: 1024}, nil},
		{flow.Limits{WindowBytes: 4 << 20, MaxFrameBytes: 256 << 10}, nil},
		{flow.Limits{WindowBytes: math.MaxInt64, MaxFrameBytes: math.MaxInt64}, nil},
		{flow.Limits{WindowBytes: 0, MaxFrameBytes: 1024}, flow.LimitsInvalid},
		{flow.Limits{WindowBytes: -1, MaxFrameBytes: 1024}, flow.LimitsInvalid},
		{flow.Limits{WindowBytes: 1, MaxFrameBytes: 1023}, flow.LimitsInvalid},
		{flow.Limits{WindowBytes: 1, MaxFrameBytes: math.MinInt64}, flow.LimitsInvalid},
		{flow.Limits{}, flow.LimitsInvalid},
	} {
		if err := c.limits.Validate(); !errors.Is(err, c.want) {
			t.Errorf("%+v: got %v, want %v", c.limits, err, c.want)
		}
	}
}

func TestLower(t *testing.T) {
	own := flow.Limits{WindowBytes: 1 << 20, MaxFrameBytes: 64 << 10}
	for name, c := range map[string]struct{ offer, want flow.Limits }{
		"as offered":     {flow.Limits{WindowBytes: 1, MaxFrameBytes: 1024}, flow.Limits{WindowBytes: 1, MaxFrameBytes: 1024}},
		"equal":          {own, own},
		"both lowered":   {flow.Limits{WindowBytes: 8 << 20, MaxFrameBytes: 1 << 20}, own},
		"window lowered": {flow.Limits{WindowBytes: 8 << 20, MaxFrameBytes: 1024}, flow.Limits{WindowBytes: 1 << 20, MaxFrameBytes: 1024}},
		"frame lowered":  {flow.Limits{WindowBytes: 7, MaxFrameBytes: 1 << 20}, flow.Limits{WindowBytes: 7, MaxFrameBytes: 64 << 10}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := flow.Lower(c.offer, own)
			if err != nil || got != c.want {
				t.Fatalf("Lower(%+v) = %+v, %v, want %+v", c.offer, got, err, c.want)
			}
			if err := flow.CheckAccepted(c.offer, got); err != nil {
				t.Errorf("the other end refuses the answer: %v", err)
			}
		})
	}
	if _, err := flow.Lower(flow.Limits{WindowBytes: 1, MaxFrameBytes: 1023}, own); !errors.Is(err, flow.LimitsInvalid) {
		t.Errorf("invalid offer: got %v, want %v", err, flow.LimitsInvalid)
	}
}

func TestCheckAccepted(t *testing.T) {
	offer := flow.Limits{WindowBytes: 4096, MaxFrameBytes: 2048}
	for _, c := range []struct {
		accepted flow.Limits
		want     error
	}{
		{offer, nil},
		{flow.Limits{WindowBytes: 1, MaxFrameBytes: 1024}, nil},
		{flow.Limits{WindowBytes: 4097, MaxFrameBytes: 2048}, flow.LimitsRaised},
		{flow.Limits{WindowBytes: 4096, MaxFrameBytes: 2049}, flow.LimitsRaised},
		{flow.Limits{WindowBytes: 4096, MaxFrameBytes: 1023}, flow.LimitsInvalid},
		{flow.Limits{WindowBytes: 0, MaxFrameBytes: 1024}, flow.LimitsInvalid},
	} {
		if err := flow.CheckAccepted(offer, c.accepted); !errors.Is(err, c.want) {
			t.Errorf("%+v: got %v, want %v", c.accepted, err, c.want)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		limits flow.Limits
		want   int64
	}{
		{flow.Limits{WindowBytes: 1, MaxFrameBytes: 1024}, 1024},
		{flow.Limits{WindowBytes: 4096, MaxFrameBytes: 1024}, 5119},
		{flow.Limits{WindowBytes: math.MaxInt64, MaxFrameBytes: 1024}, math.MaxInt64},
		{flow.Limits{WindowBytes: math.MaxInt64 - 1024, MaxFrameBytes: 1024}, math.MaxInt64 - 1},
	} {
		if got := c.limits.Budget(); got != c.want {
			t.Errorf("Budget of %+v = %d, want %d", c.limits, got, c.want)
		}
	}
}

func TestViolation(t *testing.T) {
	w := flow.NewWindow(flow.Limits{WindowBytes: 100, MaxFrameBytes: 1024})
	_, err := w.Credit(7)
	err = fmt.Errorf("channel: %w", err)
	var v *flow.Violation
	if !errors.As(err, &v) || v.Breach != flow.CreditBeyondSent || v.Got != 7 || v.Limit != 0 {
		t.Fatalf("got %#v, want a credit for 7 of 0", v)
	}
	if want := "channel: flow: credit beyond sent: got 7, limit 0"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if errors.Is(err, flow.CreditOffBoundary) {
		t.Error("it matches another rule as well")
	}
	if want := "flow: inner foreign"; flow.CheckInner("a", flow.Data, "b").Error() != want {
		t.Errorf("got %q, want %q", flow.CheckInner("a", flow.Data, "b"), want)
	}
}

// Every rule has a name of its own: it names a counter.
func TestBreachNames(t *testing.T) {
	seen := make(map[string]flow.Breach)
	for b := flow.LimitsInvalid; b <= flow.InnerForeign; b++ {
		if other, ok := seen[b.Error()]; ok || b.Error() == "" {
			t.Errorf("breach %d is called %q, as is %d", b, b, other)
		}
		seen[b.Error()] = b
	}
	for _, b := range []flow.Breach{0, flow.InnerForeign + 1} {
		if want := fmt.Sprintf("breach %d", uint8(b)); b.Error() != want {
			t.Errorf("got %q, want %q", b.Error(), want)
		}
	}
}
