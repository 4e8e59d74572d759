package flow_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/causeway-ahp/causeway/flow"
)

func envelope(uri string) flow.Envelope {
	return flow.Envelope{
		Before: []byte(`{"jsonrpc":"2.0","method":"channel/frame","params":{"channel":"` + uri + `","data":"`),
		After:  []byte(`"}}`),
		Last:   []byte(`","final":true}}`),
	}
}

type frame struct {
	Method string `json:"method"`
	Params struct {
		Channel string `json:"channel"`
		Data    string `json:"data"`
		Final   bool   `json:"final"`
	} `json:"params"`
}

// pieceOf reads what the example needs of a frame.
func pieceOf(text []byte) (piece []byte, final bool) {
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, false
	}
	return []byte(f.Params.Data), f.Params.Final
}

// cut returns the frames of a message, each tested as its receiver would.
func cut(t testing.TB, msg []byte, env flow.Envelope, maxFrame int64) []frame {
	t.Helper()
	f, err := flow.NewFragmenter(msg, env, maxFrame)
	if err != nil {
		t.Fatal(err)
	}
	var list []frame
	for !f.Done() {
		text, size := f.AppendNext([]byte("before "))
		text = bytes.TrimPrefix(text, []byte("before "))
		if size != reference(string(text)) || size > maxFrame {
			t.Fatalf("a frame of %d bytes says %d, limit %d", reference(string(text)), size, maxFrame)
		}
		var one frame
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatalf("frame %q: %v", text, err)
		}
		if one.Params.Data == "" {
			t.Fatalf("frame %d is empty", len(list))
		}
		list = append(list, one)
		if one.Params.Final != f.Done() {
			t.Fatalf("frame %d: final %v, done %v", len(list), one.Params.Final, f.Done())
		}
	}
	if text, size := f.AppendNext(nil); text != nil || size != 0 {
		t.Errorf("after the final frame: %q, %d", text, size)
	}
	return list
}

func joined(t testing.TB, frames []frame, ceiling int) []byte {
	t.Helper()
	r := flow.NewReassembler(int64(ceiling))
	for i, f := range frames {
		msg, err := r.Add([]byte(f.Params.Data), f.Params.Final)
		if err != nil {
			t.Fatalf("piece %d: %v", i, err)
		}
		if (msg != nil) != (i == len(frames)-1) {
			t.Fatalf("piece %d of %d: complete is %v", i, len(frames), msg != nil)
		}
		if msg != nil {
			return msg
		}
	}
	return nil
}

func TestFragmentsJoin(t *testing.T) {
	for name, msg := range map[string]string{
		"small":       hello,
		"one char":    `1`,
		"plain":       `"` + strings.Repeat("abcdefg", 1000) + `"`,
		"quotes":      `[` + strings.Repeat(`"",`, 1000) + `0]`,
		"backslashes": `"` + strings.Repeat(`\\`, 1000) + `"`,
		"short":       strings.Repeat("\n\t\r\b\f", 400),
		"controls":    strings.Repeat("\x00\x01\x1f", 400),
		"delete":      strings.Repeat("\x7f", 2000),
		"two bytes":   strings.Repeat("é", 2000),
		"three bytes": strings.Repeat("世", 2000),
		"pairs":       strings.Repeat("😀", 2000),
		"odd pairs":   "x" + strings.Repeat("😀", 2000),
		"separators":  strings.Repeat("\u2028\u2029<>&", 500),
		"mixed":       strings.Repeat("a\"é\\世\n😀\x02", 500),
	} {
		t.Run(name, func(t *testing.T) {
			for _, maxFrame := range []int64{1024, 1025, 1026, 1027, 1500, 4096, 256 << 10} {
				frames := cut(t, []byte(msg), envelope("ahp-session:/s1"), maxFrame)
				if got := joined(t, frames, len(msg)); string(got) != msg {
					t.Fatalf("limit %d: joined %q, want %q", maxFrame, got, msg)
				}
			}
		})
	}
}

// Frames are as full as whole characters allow: at most an escape is missing.
func TestFramesAreFull(t *testing.T) {
	env := envelope("ahp-session:/s1")
	for char, cost := range map[string]int64{"a": 1, "é": 1, `"`: 2, "\n": 2, "😀": 2, "\x01": 6} {
		f, err := flow.NewFragmenter([]byte(strings.Repeat(char, 5000)), env, 1024)
		if err != nil {
			t.Fatal(err)
		}
		_, size := f.AppendNext(nil)
		spare := flow.Size(env.Last) - flow.Size(env.After)
		if size <= 1024-spare-2*cost {
			t.Errorf("a frame of %q has %d bytes of 1024", char, size)
		}
	}
}

// Every length around one frame's room: none is lost between "fits with the
// ending of a final frame" and "fits with the other".
func TestFragmentLengthsAroundARoom(t *testing.T) {
	env := envelope("ahp-session:/s1")
	room := 512 - (len(env.Before) + len(env.Last))
	for n := room - 20; n <= room+20; n++ {
		msg := strings.Repeat("a", n)
		frames := cut(t, []byte(msg), env, 1024)
		want := 1
		if n > room {
			want = 2
		}
		if len(frames) != want {
			t.Errorf("%d characters make %d frames, want %d", n, len(frames), want)
		}
		if got := joined(t, frames, n); string(got) != msg {
			t.Errorf("%d characters join to %d", n, len(got))
		}
	}
}

func TestNewFragmenterRefuses(t *testing.T) {
	long := envelope("ahp-session:/" + strings.Repeat("x", 2000))
	env := envelope("ahp-session:/s1")
	least := int64(2 * (len(env.Before) + len(env.Last) + 6))
	for name, c := range map[string]struct {
		msg      string
		env      flow.Envelope
		maxFrame int64
		want     error
	}{
		"empty":           {"", env, 1024, flow.ErrText},
		"not UTF-8":       {"a\xffb", env, 1024, flow.ErrText},
		"half a char":     {"a\xe4\xb8", env, 1024, flow.ErrText},
		"long URI":        {hello, long, 1024, flow.ErrNoRoom},
		"one escape fits": {hello, env, least, nil},
		"none fits":       {hello, env, least - 1, flow.ErrNoRoom},
		"negative":        {hello, env, math.MinInt64, flow.ErrNoRoom},
		"without bound":   {hello, env, math.MaxInt64, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := flow.NewFragmenter([]byte(c.msg), c.env, c.maxFrame); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// With room for a single escape every character still gets through.
func TestTheSmallestRoom(t *testing.T) {
	env := envelope("ahp-session:/s1")
	msg := "\x00\x1f\"\\é世😀😀abc\n"
	frames := cut(t, []byte(msg), env, int64(2*(len(env.Before)+len(env.Last)+6)))
	if got := joined(t, frames, len(msg)); string(got) != msg {
		t.Errorf("joined %q, want %q", got, msg)
	}
}
