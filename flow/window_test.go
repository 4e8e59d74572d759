package flow_test

import (
	"errors"
	"math"
	"testing"

	"github.com/causeway-ahp/causeway/flow"
)

func charged(t *testing.T, limits flow.Limits, sizes ...int64) *flow.Window {
	t.Helper()
	w := flow.NewWindow(limits)
	for _, size := range sizes {
		if err := w.Charge(size); err != nil {
			t.Fatalf("Charge(%d): %v", size, err)
		}
	}
	return &w
}

func TestCharge(t *testing.T) {
	limits := flow.Limits{WindowBytes: 1000, MaxFrameBytes: 1024}
	for name, c := range map[string]struct {
		before []int64
		size   int64
		want   error
	}{
		"first":                      {nil, 100, nil},
		"larger than the window":     {nil, 1024, nil},
		"crosses the window":         {[]int64{998}, 1024, nil},
		"one byte left":              {[]int64{999}, 1024, nil},
		"exactly full":               {[]int64{1000}, 2, flow.ErrWindowFull},
		"more than full":             {[]int64{998, 1024}, 2, flow.ErrWindowFull},
		"above the frame limit":      {nil, 1025, flow.ErrBadSize},
		"far above it":               {nil, math.MaxInt64, flow.ErrBadSize},
		"nothing":                    {nil, 0, flow.ErrBadSize},
		"negative":                   {nil, -2, flow.ErrBadSize},
		"too large for a full one":   {[]int64{1000}, 1025, flow.ErrBadSize},
		"fits exactly in the window": {[]int64{500}, 500, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := charged(t, limits, c.before...)
			before := w.Outstanding()
			if err := w.Charge(c.size); !errors.Is(err, c.want) {
				t.Fatalf("Charge(%d) = %v, want %v", c.size, err, c.want)
			}
			want := before
			if c.want == nil {
				want += c.size
			}
			if w.Outstanding() != want || w.Sent() != want {
				t.Errorf("outstanding %d, sent %d, want %d", w.Outstanding(), w.Sent(), want)
			}
		})
	}
}

func TestTheZeroWindowLetsNothingStart(t *testing.T) {
	var w flow.Window
	if w.CanStart() {
		t.Error("a message may start")
	}
	if err := w.Charge(2); err == nil {
		t.Error("a message was charged")
	}
}

func TestWindowCredit(t *testing.T) {
	limits := flow.Limits{WindowBytes: 1000, MaxFrameBytes: 1024}
	for name, c := range map[string]struct {
		credits []int64 // all but the last are accepted
		freed   int64
		want    error
	}{
		"first message":           {[]int64{100}, 100, nil},
		"two at once":             {[]int64{300}, 300, nil},
		"all":                     {[]int64{900}, 900, nil},
		"one after another":       {[]int64{100, 300, 900}, 600, nil},
		"nothing":                 {[]int64{0}, 0, nil},
		"equal":                   {[]int64{300, 300}, 0, nil},
		"older":                   {[]int64{300, 100}, 0, nil},
		"older, off a boundary":   {[]int64{300, 7}, 0, nil},
		"negative":                {[]int64{-1}, 0, flow.CreditNegative},
		"most negative":           {[]int64{math.MinInt64}, 0, flow.CreditNegative},
		"inside the first":        {[]int64{99}, 0, flow.CreditOffBoundary},
		"just after the first":    {[]int64{101}, 0, flow.CreditOffBoundary},
		"inside the last":         {[]int64{300, 899}, 0, flow.CreditOffBoundary},
		"a sum of some, not last": {[]int64{200}, 0, flow.CreditOffBoundary},
		"beyond":                  {[]int64{901}, 0, flow.CreditBeyondSent},
		"beyond after all":        {[]int64{900, 902}, 0, flow.CreditBeyondSent},
		"far beyond":              {[]int64{math.MaxInt64}, 0, flow.CreditBeyondSent},
	} {
		t.Run(name, func(t *testing.T) {
			w := charged(t, limits, 100, 200, 600)
			last := len(c.credits) - 1
			for _, n := range c.credits[:last] {
				if _, err := w.Credit(n); err != nil {
					t.Fatalf("Credit(%d): %v", n, err)
				}
			}
			before := w.Outstanding()
			freed, err := w.Credit(c.credits[last])
			if freed != c.freed || !errors.Is(err, c.want) {
				t.Fatalf("Credit(%d) = %d, %v, want %d, %v", c.credits[last], freed, err, c.freed, c.want)
			}
			if got := before - w.Outstanding(); got != c.freed {
				t.Errorf("outstanding fell by %d, want %d", got, c.freed)
			}
		})
	}
}

func TestCreditOpensTheWindow(t *testing.T) {
	w := charged(t, flow.Limits{WindowBytes: 1, MaxFrameBytes: 1024}, 1024)
	if w.CanStart() {
		t.Fatal("the window is open with a frame outstanding")
	}
	if _, err := w.Credit(1024); err != nil || !w.CanStart() {
		t.Fatalf("after the credit: open %v, error %v", w.CanStart(), err)
	}
	if err := w.Charge(180); err != nil {
		t.Errorf("charge: %v", err)
	}
}

// A refused credit leaves the boundaries as they were, so the next is judged
// rightly.
func TestARefusedCreditChangesNothing(t *testing.T) {
	w := charged(t, flow.Limits{WindowBytes: 1000, MaxFrameBytes: 1024}, 100, 200, 600)
	for _, n := range []int64{299, -1, 9999, 301} {
		if _, err := w.Credit(n); err == nil {
			t.Errorf("Credit(%d) was accepted", n)
		}
	}
	if freed, err := w.Credit(300); freed != 300 || err != nil {
		t.Errorf("Credit(300) = %d, %v, want 300, nil", freed, err)
	}
}
