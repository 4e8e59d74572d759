package flow_test

import (
	"errors"
	"math"
	"testing"

	"github.com/causeway-ahp/causeway/flow"
)

func received(t *testing.T, limits flow.Limits, sizes ...int64) *flow.Credit {
	t.Helper()
	c := flow.NewCredit(limits)
	for _, size := range sizes {
		if err := c.Receive(size); err != nil {
			t.Fatalf("Receive(%d): %v", size, err)
		}
	}
	return &c
}

func release(t *testing.T, c *flow.Credit, n int64) {
	t.Helper()
	if err := c.Release(n); err != nil {
		t.Fatalf("Release(%d): %v", n, err)
	}
}

func TestReceive(t *testing.T) {
	limits := flow.Limits{WindowBytes: 1000, MaxFrameBytes: 1024}
	for name, c := range map[string]struct {
		before []int64
		size   int64
		want   error
	}{
		"first":                    {nil, 180, nil},
		"largest frame":            {nil, 1024, nil},
		"crosses the window":       {[]int64{999}, 1024, nil},
		"over the frame limit":     {nil, 1025, flow.FrameTooLarge},
		"nothing":                  {nil, 0, flow.FrameTooLarge},
		"begun with a full window": {[]int64{1000}, 2, flow.WindowExceeded},
		"begun with more":          {[]int64{999, 1024}, 2, flow.WindowExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			end := received(t, limits, c.before...)
			before := end.Held()
			if err := end.Receive(c.size); !errors.Is(err, c.want) {
				t.Fatalf("Receive(%d) = %v, want %v", c.size, err, c.want)
			}
			if c.want == nil {
				before += c.size
			}
			if end.Held() != before {
				t.Errorf("held %d, want %d", end.Held(), before)
			}
		})
	}
}

// Only credit that was handed out opens the window: released is not enough.
func TestReceiveCountsUntilTheCreditIsTaken(t *testing.T) {
	c := received(t, flow.Limits{WindowBytes: 1000, MaxFrameBytes: 1024}, 1000)
	release(t, c, 1000)
	if err := c.Receive(2); !errors.Is(err, flow.WindowExceeded) {
		t.Errorf("before Take: got %v, want %v", err, flow.WindowExceeded)
	}
	if n, ok := c.Take(); n != 1000 || !ok {
		t.Fatalf("Take = %d, %v, want 1000, true", n, ok)
	}
	if err := c.Receive(2); err != nil {
		t.Errorf("after Take: %v", err)
	}
}

func TestTheZeroCreditAcceptsNothing(t *testing.T) {
	var c flow.Credit
	if err := c.Receive(2); err == nil {
		t.Error("a message was accepted")
	}
	if n, ok := c.Take(); ok {
		t.Errorf("a credit of %d is due", n)
	}
}

func TestReleaseIsBounded(t *testing.T) {
	c := received(t, flow.Limits{WindowBytes: 1000, MaxFrameBytes: 1024}, 100)
	for _, n := range []int64{101, -1, math.MaxInt64, math.MinInt64} {
		if err := c.Release(n); !errors.Is(err, flow.ErrBadRelease) {
			t.Errorf("Release(%d) = %v, want %v", n, err, flow.ErrBadRelease)
		}
	}
	release(t, c, 100)
	if err := c.Release(1); !errors.Is(err, flow.ErrBadRelease) {
		t.Errorf("a second release: got %v, want %v", err, flow.ErrBadRelease)
	}
}

func TestTake(t *testing.T) {
	limits := flow.Limits{WindowBytes: 1000, MaxFrameBytes: 1024}
	for name, c := range map[string]struct {
		sizes, releases []int64
		want            int64
		due             bool
	}{
		"nothing received":             {nil, nil, 0, false},
		"nothing released":             {[]int64{400}, nil, 0, false},
		"all released, a little":       {[]int64{2}, []int64{2}, 2, true},
		"below a quarter, some held":   {[]int64{248, 400}, []int64{248}, 0, false},
		"a quarter":                    {[]int64{250, 400}, []int64{250}, 250, true},
		"a quarter, in parts":          {[]int64{100, 150, 400}, []int64{100, 150}, 250, true},
		"part of a message":            {[]int64{400, 400}, []int64{399}, 0, false},
		"floor of two":                 {[]int64{300, 400, 200}, []int64{650}, 300, true},
		"the larger one first":         {[]int64{300, 400}, []int64{400}, 300, true},
		"all, in portions":             {[]int64{300, 400}, []int64{1, 298, 2, 399}, 700, true},
		"a quarter within one message": {[]int64{900, 2}, []int64{600}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			end := received(t, limits, c.sizes...)
			for _, n := range c.releases {
				release(t, end, n)
			}
			if n, due := end.Take(); n != c.want || due != c.due {
				t.Fatalf("Take = %d, %v, want %d, %v", n, due, c.want, c.due)
			}
			if n, due := end.Take(); due {
				t.Errorf("Take again = %d, true", n)
			}
		})
	}
}

// The quarter is rounded up, so the smallest windows give credit as well, and
// only when there is something to give.
func TestTakeWithTheSmallestWindows(t *testing.T) {
	for window := int64(1); window <= 9; window++ {
		c := received(t, flow.Limits{WindowBytes: window, MaxFrameBytes: 1024})
		total := int64(0)
		for range 3 {
			if n, due := c.Take(); due {
				t.Fatalf("window %d: %d due of nothing", window, n)
			}
			if err := c.Receive(1000); err != nil {
				t.Fatalf("window %d: %v", window, err)
			}
			release(t, c, 1000)
			total += 1000
			if n, due := c.Take(); n != total || !due {
				t.Fatalf("window %d: Take = %d, %v, want %d, true", window, n, due, total)
			}
		}
	}
}

// Rounded up: what is less than a quarter is not given back early.
func TestTheQuarterIsRoundedUp(t *testing.T) {
	for window := int64(1001); window <= 1004; window++ {
		c := received(t, flow.Limits{WindowBytes: window, MaxFrameBytes: 1024}, 250, 1, 400)
		release(t, c, 250)
		if n, due := c.Take(); due {
			t.Errorf("window %d: a credit of %d is due", window, n)
		}
		release(t, c, 1)
		if n, due := c.Take(); n != 251 || !due {
			t.Errorf("window %d: Take = %d, %v, want 251, true", window, n, due)
		}
	}
}

// A message that still waits, then fragments that moved on: the sum is not the
// end of a message, and the sender would refuse it.
func TestCreditAfterReleaseOutOfOrder(t *testing.T) {
	limits := flow.Limits{WindowBytes: 2000, MaxFrameBytes: 1024}
	sizes := []int64{180, 1024, 700}
	w, c := charged(t, limits, sizes...), received(t, limits, sizes...)
	release(t, c, 1024)
	release(t, c, 700)
	n, due := c.Take()
	if n != 1204 || !due {
		t.Fatalf("Take = %d, %v, want 1204, true", n, due)
	}
	if _, err := w.Credit(n); err != nil {
		t.Fatal(err)
	}
	release(t, c, 180)
	n, _ = c.Take()
	if _, err := w.Credit(n); err != nil || w.Outstanding() != 0 {
		t.Errorf("after all: outstanding %d, error %v", w.Outstanding(), err)
	}
}
