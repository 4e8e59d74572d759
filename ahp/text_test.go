package ahp

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// textFork is a Text with what it must hold for ever.
type textFork struct {
	text Text
	want string
}

func checkText(t rapid.TB, f textFork) {
	t.Helper()
	if got := f.text.String(); got != f.want {
		t.Fatalf("text of %d bytes: got %.80q, want %.80q", len(f.want), got, f.want)
	}
	if got := f.text.Len(); got != len(f.want) {
		t.Fatalf("length: got %d, want %d", got, len(f.want))
	}
}

// drawPiece draws bytes to append: often a few, sometimes enough to fill chunks
// of any size, with runes of every width and broken ones.
func drawPiece(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{
		"", "a", "token ", "\"\\\n\x00", "é", "€uro", "😀", "\xf0\x9f", "\x98\x80", "\xff", "\xe2",
	}).Draw(t, "piece")
	times := rapid.SampledFrom([]int{1, 1, 1, 7, 90}).Draw(t, "times")
	return strings.Repeat(piece, times)
}

func TestTextModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		forks := []textFork{{}, {NewText(""), ""}}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				from := rapid.SampledFrom(forks).Draw(t, "from")
				s := drawPiece(t)
				forks = append(forks, textFork{from.text.Append(s), from.want + s})
			},
			"stream": func(t *rapid.T) { // always from the newest: chunks fill up
				f, s := forks[len(forks)-1], drawPiece(t)
				for range 20 {
					f = textFork{f.text.Append(s), f.want + s}
				}
				forks = append(forks, f)
			},
			"": func(t *rapid.T) {
				for _, f := range forks {
					checkText(t, f)
				}
				a := rapid.SampledFrom(forks).Draw(t, "a")
				b := rapid.SampledFrom(forks).Draw(t, "b")
				want := a.want == b.want && a.text.IsZero() == b.text.IsZero()
				if got := a.text.Equal(b.text); got != want {
					t.Fatalf("equal of %.40q and %.40q: got %v, want %v", a.want, b.want, got, want)
				}
				checkTextJSON(t, a.text, a.want)
			},
		})
	})
}

// checkTextJSON compares with the JSON form of a plain string.
func checkTextJSON(t rapid.TB, text Text, plain string) {
	t.Helper()
	mangle := jsontext.AllowInvalidUTF8(true)
	got, err := json.Marshal(text)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	want, err := json.Marshal(plain, mangle)
	if err != nil {
		t.Fatalf("marshal plain string: %v", err)
	}
	if string(got) != string(want) {
		t.Fatalf("JSON: got %.80q, want %.80q", got, want)
	}
	var back Text
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	var wantBack string
	if err := json.Unmarshal(want, &wantBack); err != nil {
		t.Fatalf("unmarshal plain string: %v", err)
	}
	checkText(t, textFork{back, wantBack})
	checkText(t, textFork{back.Append("more"), wantBack + "more"})
}

func TestTextPresence(t *testing.T) {
	type part struct {
		Content Text `json:"content,omitzero"`
	}
	for _, tt := range []struct {
		name string
		text Text
		zero bool
		json string
	}{
		{"absent", Text{}, true, `{}`},
		{"empty", NewText(""), false, `{"content":""}`},
		{"absent and nothing", Text{}.Append(""), false, `{"content":""}`},
		{"filled", NewText("x"), false, `{"content":"x"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.text.IsZero(); got != tt.zero {
				t.Errorf("IsZero: got %v, want %v", got, tt.zero)
			}
			got, err := json.Marshal(part{tt.text})
			if err != nil || string(got) != tt.json {
				t.Fatalf("marshal: got %s, %v, want %s", got, err, tt.json)
			}
			var back part
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if !back.Content.Equal(tt.text) {
				t.Errorf("round trip: got %q (absent %v), want %q (absent %v)",
					back.Content, back.Content.IsZero(), tt.text, tt.zero)
			}
		})
	}
}

func TestTextDecode(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		ok             bool
	}{
		{"plain", `"abc"`, "abc", true},
		{"escapes", `"\u0041\n\"\ud83d\ude00"`, "A\n\"😀", true},
		{"lone surrogate", `"a\ud83d!"`, "a\ufffd!", true},
		{"lone low surrogate", `"\ude00"`, "\ufffd", true},
		{"invalid UTF-8", "\"\xff\xff\"", "\ufffd\ufffd", true},
		{"null", `null`, "", true},
		{"number", `7`, "", false},
		{"object", `{}`, "", false},
		{"cut", `"abc`, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got Text
			err := json.Unmarshal([]byte(tt.in), &got, jsontext.AllowInvalidUTF8(true))
			if (err == nil) != tt.ok {
				t.Fatalf("got error %v, want success %v", err, tt.ok)
			}
			checkText(t, textFork{got, tt.want})
		})
	}
}

// TestTextSplitRune cuts a rune at every byte, at every distance from the end of
// a chunk.
func TestTextSplitRune(t *testing.T) {
	const rune4 = "😀"
	for before := range 140 {
		for cut := 1; cut < len(rune4); cut++ {
			prefix := strings.Repeat("x", textCopyMax) + strings.Repeat("y", before)
			text := NewText(prefix[:1]).Append(prefix[1:]).Append(rune4[:cut]).Append(rune4[cut:]).Append("z")
			checkTextJSON(t, text, prefix+rune4+"z")
		}
	}
}

// TestTextChain bounds what forks cost: appending in turns to two forks must not
// build chains of tiny chunks, nor copy more than one tail.
func TestTextChain(t *testing.T) {
	confirmed := NewText(strings.Repeat("x", 2<<20))
	for range 2_000 {
		confirmed.Append("optimistic") // claims the room first
		confirmed = confirmed.Append("confirmed ")
	}
	if got := len(confirmed.last.buf); got > textCopyMax+2*textMinChunk {
		t.Errorf("buffer of a fork: got %d bytes, want a small one", got)
	}
	limit := confirmed.Len()/textCopyMax + 1
	if got := len(confirmed.pieces(nil)); got > limit {
		t.Errorf("pieces of %d bytes: got %d, want at most %d", confirmed.Len(), got, limit)
	}
	if n := testing.AllocsPerRun(100, func() { confirmed.Append("x"); confirmed.Append("y") }); n > 4 {
		t.Errorf("allocations of two forks: got %v, want at most 4", n)
	}
}

// TestTextStream holds the promise that a long stream is cheap: a few chunks,
// hence a few allocations.
func TestTextStream(t *testing.T) {
	const token, size = "twelve bytes", 1 << 20
	text, want := NewText(""), strings.Repeat(token, size/len(token))
	for range size / len(token) {
		text = text.Append(token)
	}
	checkText(t, textFork{text, want})
	if got, limit := len(text.pieces(nil)), size/textMaxChunk+8; got > limit {
		t.Errorf("pieces of %d bytes: got %d, want at most %d", text.Len(), got, limit)
	}
}

func TestTextAppendersRace(t *testing.T) {
	const appenders, rounds = 4, 300
	base := NewText("base").Append(":") // with spare room
	var group sync.WaitGroup
	for a := range appenders {
		group.Go(func() {
			text, want := base, "base:"
			for r := range rounds {
				s := fmt.Sprintf("%d.%d ", a, r)
				text, want = text.Append(s), want+s
				base.Append(s)
				if got := text.String(); got != want {
					t.Errorf("appender %d: got %.60q, want %.60q", a, got, want)
					return
				}
			}
		})
	}
	group.Wait()
	checkText(t, textFork{base, "base:"})
}

func TestTextSize(t *testing.T) {
	if got := unsafe.Sizeof(Text{}); got > 24 {
		t.Errorf("size of a Text: got %d bytes, want at most 24", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("plain text"), uint8(3), uint16(200))
	f.Add([]byte("€😀\"\\\x00é"), uint8(1), uint16(300))
	f.Add([]byte("\xf0\x9f\x98\x80\xff\xe2\x82"), uint8(2), uint16(150))
	f.Add([]byte(""), uint8(0), uint16(1))
	f.Add([]byte(strings.Repeat("😀", 1000)), uint8(255), uint16(40))
	f.Fuzz(func(t *testing.T, data []byte, step uint8, times uint16) {
		size := min(int(step)+1, max(len(data), 1))
		var text, older Text
		var want, olderWant strings.Builder
		for range min(int(times), 32<<10/max(len(data), 1)) {
			for rest := string(data); rest != ""; {
				piece := rest[:min(size, len(rest))]
				rest = rest[len(piece):]
				text = text.Append(piece)
				want.WriteString(piece)
			}
			if older.IsZero() {
				older = text
				olderWant.WriteString(want.String())
			}
			older.Append("!") // a fork that takes the room first
		}
		checkText(t, textFork{text, want.String()})
		checkText(t, textFork{older, olderWant.String()})
		checkTextJSON(t, text, want.String())
	})
}
