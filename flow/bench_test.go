package flow_test

import (
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/flow"
)

var ours = flow.Limits{WindowBytes: 4 << 20, MaxFrameBytes: 256 << 10}

func BenchmarkSize(b *testing.B) {
	for name, msg := range map[string]string{
		"hello": hello,
		"ascii": strings.Repeat("0123456789abcdef", 8<<10),
		"mixed": strings.Repeat("some text, then ünïcödé; ", 4<<10),
		"cjk":   strings.Repeat("世界", 20<<10),
		"emoji": strings.Repeat("😀", 32<<10),
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(msg)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				flow.Size(text)
			}
		})
	}
}

// transfer is what one message costs both ends together.
func transfer(w *flow.Window, c *flow.Credit, size int64) error {
	if err := w.Charge(size); err != nil {
		return err
	}
	if err := c.Receive(size); err != nil {
		return err
	}
	if err := c.Release(size); err != nil {
		return err
	}
	if n, due := c.Take(); due {
		_, err := w.Credit(n)
		return err
	}
	return nil
}

func BenchmarkTransfer(b *testing.B) {
	for name, size := range map[string]int64{"hello": 180, "frame": 256 << 10} {
		b.Run(name, func(b *testing.B) {
			w, c := flow.NewWindow(ours), flow.NewCredit(ours)
			// One message stays behind, so that credit waits for a quarter.
			if err := w.Charge(2); err != nil {
				b.Fatal(err)
			}
			if err := c.Receive(2); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := transfer(&w, &c, size); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFragments(b *testing.B) {
	for name, msg := range map[string]string{
		"json": strings.Repeat(`{"type":"chat/delta","text":"some words of an answer","n":12},`, 16<<10),
		"cjk":  strings.Repeat("世界", 100<<10),
	} {
		b.Run(name, func(b *testing.B) {
			text, env := []byte(msg), envelope("ahp-chat:/c1")
			frame := make([]byte, 0, 512<<10)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				f, err := flow.NewFragmenter(text, env, ours.MaxFrameBytes)
				if err != nil {
					b.Fatal(err)
				}
				for !f.Done() {
					f.AppendNext(frame)
				}
			}
		})
	}
}

func BenchmarkTurns(b *testing.B) {
	var r flow.Turns[int]
	for i := range 1000 {
		r.Join(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		t, _ := r.Next()
		r.Join(t)
	}
}

func TestNoAllocationPerMessage(t *testing.T) {
	w, c := flow.NewWindow(ours), flow.NewCredit(ours)
	var turns flow.Turns[int]
	for i := range 100 {
		turns.Join(i)
	}
	text, env := []byte(strings.Repeat(`"words",`, 1000)), envelope("ahp-chat:/c1")
	frame := make([]byte, 0, 64<<10)
	for name, step := range map[string]func(){
		"transfer": func() {
			if err := transfer(&w, &c, 180); err != nil {
				t.Fatal(err)
			}
		},
		"fragments": func() {
			f, err := flow.NewFragmenter(text, env, 4096)
			if err != nil {
				t.Fatal(err)
			}
			for !f.Done() {
				f.AppendNext(frame)
			}
		},
		"turns": func() {
			next, _ := turns.Next()
			turns.Join(next)
		},
	} {
		if n := testing.AllocsPerRun(2000, step); n != 0 {
			t.Errorf("%s: %v allocations a run, want none", name, n)
		}
	}
}
