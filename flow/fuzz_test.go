package flow_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/flow"
)

// ops reads steps from fuzzed bytes: a kind and a number each.
func ops(data []byte, step func(kind byte, n int64)) {
	for ; len(data) >= 3; data = data[3:] {
		step(data[0], int64(int16(binary.LittleEndian.Uint16(data[1:]))))
	}
}

func fuzzLimits(window, frame uint16) flow.Limits {
	return flow.Limits{WindowBytes: 1 + int64(window), MaxFrameBytes: 1024 + int64(frame)}
}

func seedOps(f *testing.F) {
	f.Add(uint16(0), uint16(0), []byte{0, 180, 0, 0, 180, 0, 1, 180, 0, 1, 1, 0, 2, 0, 0})
	f.Add(uint16(1000), uint16(0), []byte{0, 100, 0, 0, 200, 0, 1, 99, 0, 1, 44, 1, 1, 0, 0, 2, 1, 0})
	f.Add(uint16(65535), uint16(65535), []byte{0, 255, 127, 0, 255, 127, 1, 255, 127, 1, 0, 128, 2, 255, 255})
	f.Add(uint16(8), uint16(9), []byte{0, 9, 4, 1, 9, 2, 2, 0, 0, 1, 0, 2, 2, 0, 0, 0, 0, 4})
}

// FuzzWindow holds Window against a plain list of where messages end, with a
// peer that claims any credit.
func FuzzWindow(f *testing.F) {
	seedOps(f)
	f.Fuzz(func(t *testing.T, window, frame uint16, data []byte) {
		limits := fuzzLimits(window, frame)
		w := flow.NewWindow(limits)
		ends := []int64{0} // the first is what was credited, the last what was sent
		ops(data, func(kind byte, n int64) {
			credited, sent := ends[0], ends[len(ends)-1]
			switch kind % 3 {
			case 0:
				open := sent-credited < limits.WindowBytes
				good := n > 0 && n <= limits.MaxFrameBytes
				if err := w.Charge(n); (err == nil) != (open && good) {
					t.Fatalf("Charge(%d) = %v with ends %v, %+v", n, err, ends, limits)
				} else if err == nil {
					ends = append(ends, sent+n)
				}
			case 1:
				ends = fuzzCredit(t, &w, ends, credited+n)
			case 2:
				ends = fuzzCredit(t, &w, ends, ends[int(uint16(n))%len(ends)])
			}
			if got, want := w.Outstanding(), ends[len(ends)-1]-ends[0]; got != want || got < 0 || got >= limits.WindowBytes+limits.MaxFrameBytes {
				t.Fatalf("outstanding %d, want %d, limits %+v", got, want, limits)
			}
		})
	})
}

// fuzzCredit claims a credit and returns the ends that remain.
func fuzzCredit(t *testing.T, w *flow.Window, ends []int64, n int64) []int64 {
	t.Helper()
	freed, err := w.Credit(n)
	at, known := slices.BinarySearch(ends, n)
	old := n >= 0 && n <= ends[0]
	var v *flow.Violation
	switch {
	case err != nil && (old || known || freed != 0 || !errors.As(err, &v)):
		t.Fatalf("Credit(%d) = %d, %v with ends %v", n, freed, err, ends)
	case err == nil && !old && !known:
		t.Fatalf("Credit(%d) accepted with ends %v", n, ends)
	case err == nil && old && freed != 0, err == nil && !old && freed != n-ends[0]:
		t.Fatalf("Credit(%d) freed %d with ends %v", n, freed, ends)
	}
	if err != nil || old {
		return ends
	}
	return ends[at:]
}

// FuzzCredit holds Credit against the same list, with a peer that sends whatever
// it likes and a consumer that releases in any portions.
func FuzzCredit(f *testing.F) {
	seedOps(f)
	f.Fuzz(func(t *testing.T, window, frame uint16, data []byte) {
		limits := fuzzLimits(window, frame)
		c := flow.NewCredit(limits)
		ends := []int64{0} // the first is the last credit, the last what was received
		released := int64(0)
		ops(data, func(kind byte, n int64) {
			received := ends[len(ends)-1]
			switch kind % 3 {
			case 0:
				good := n > 0 && n <= limits.MaxFrameBytes && received-ends[0] < limits.WindowBytes
				if err := c.Receive(n); (err == nil) != good {
					t.Fatalf("Receive(%d) = %v with ends %v, %+v", n, err, ends, limits)
				} else if err == nil {
					ends = append(ends, received+n)
				}
			case 1:
				good := n >= 0 && released+n <= received
				if err := c.Release(n); (err == nil) != good {
					t.Fatalf("Release(%d) = %v, released %d of %d", n, err, released, received)
				} else if err == nil {
					released += n
				}
			case 2:
				ends = fuzzTake(t, &c, ends, released, limits)
			}
			if got := c.Held(); got != ends[len(ends)-1]-released || got < 0 || got > limits.Budget() {
				t.Fatalf("held %d, want %d, limits %+v", got, ends[len(ends)-1]-released, limits)
			}
		})
	})
}

// fuzzTake takes a credit and returns the ends that remain.
func fuzzTake(t *testing.T, c *flow.Credit, ends []int64, released int64, limits flow.Limits) []int64 {
	t.Helper()
	at := 0
	for at+1 < len(ends) && ends[at+1] <= released {
		at++
	}
	due := at > 0 && (at == len(ends)-1 || 4*(ends[at]-ends[0]) >= limits.WindowBytes)
	n, ok := c.Take()
	if ok != due || ok && n != ends[at] {
		t.Fatalf("Take = %d, %v, want %d, %v: ends %v, released %d, window %d", n, ok, ends[at], due, ends, released, limits.WindowBytes)
	}
	if !ok {
		return ends
	}
	return ends[at:]
}

// FuzzFragments cuts any text into frames of any limit: each decodes, fits, and
// holds something, and joined they are the text.
func FuzzFragments(f *testing.F) {
	f.Add(hello, uint16(0), uint8(0))
	f.Add(strings.Repeat(`"\é世😀`+"\n\x00", 100), uint16(1), uint8(15))
	f.Add(strings.Repeat("😀", 600), uint16(3), uint8(200))
	f.Add(strings.Repeat("\x1f", 300), uint16(1000), uint8(255))
	f.Add("x"+strings.Repeat("世", 1200), uint16(0), uint8(1))
	f.Fuzz(func(t *testing.T, text string, above uint16, uri uint8) {
		text = strings.ToValidUTF8(text, "\ufffd")
		if text == "" {
			t.Skip("an empty message is refused, as TestNewFragmenterRefuses shows")
		}
		env := envelope("ahp-chat:/" + strings.Repeat("c", int(uri)))
		frames := cut(t, []byte(text), env, 1024+int64(above%4096))
		if got := joined(t, frames, len(text)); string(got) != text {
			t.Errorf("joined %q, want %q", got, text)
		}
	})
}
