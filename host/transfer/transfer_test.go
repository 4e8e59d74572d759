package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
)

// example is an archive with a session of two chats, one of them with an image and
// actions behind it.
func example(t *testing.T) *journal.Memory {
	t.Helper()
	m := journal.NewMemory(100)
	created := func(uri, parent, state string) *journal.Record {
		return &journal.Record{Kind: journal.Created, Channel: uri, Body: jsontext.Value(state), Birth: &journal.Birth{Parent: parent, CreatedAt: "2026-01-01T00:00:00.000Z"}}
	}
	turn := func(id string) jsontext.Value {
		return jsontext.Value(fmt.Sprintf(`{"id":%q,"message":{"text":"é"},"responseParts":[],"state":"complete","x-unknown":[1]}`, id))
	}
	err := m.Write([]*journal.Record{
		created("ahp-session:/s", "", `{"provider":"p","title":"old","status":1,"lifecycle":"ready","activeClients":[],"chats":[]}`),
		created("ahp-chat:/1", "ahp-session:/s", `{"resource":"ahp-chat:/1","title":"one","status":1,"modifiedAt":"","turns":[]}`),
		created("ahp-chat:/2", "ahp-session:/s", `{"resource":"ahp-chat:/2","title":"two","status":1,"modifiedAt":"","turns":[]}`),
		{Seq: 1, Kind: journal.Action, Channel: "ahp-session:/s", Body: jsontext.Value(`{"type":"session/titleChanged","title":"new"}`)},
	})
	err = errors.Join(err,
		m.Save(&journal.Image{Channel: "ahp-chat:/1", Seq: 1, Head: jsontext.Value(`{"resource":"ahp-chat:/1","title":"one","status":1,"modifiedAt":"","turns":[]}`), Items: []jsontext.Value{turn("a"), turn("b")}}),
		m.Write([]*journal.Record{{Seq: 2, Kind: journal.Action, Channel: "ahp-chat:/1", Body: jsontext.Value(`{"type":"chat/turnStarted","turnId":"c","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"go"}}`)}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func export(t *testing.T, from Source) string {
	t.Helper()
	var b bytes.Buffer
	chats := []Channel{{"ahp-chat:/1", "2026-01-01T00:00:00.000Z"}, {"ahp-chat:/2", "2026-01-01T00:00:00.000Z"}}
	if _, err := Export(&b, from, Channel{"ahp-session:/s", "2026-01-01T00:00:00.000Z"}, chats); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestThereAndBack: what was imported is exported as the same file, unknown members
// included, and every state is as it was.
func TestThereAndBack(t *testing.T) {
	from, to := example(t), journal.NewMemory(100)
	text := export(t, from)
	uri, count, err := Import(strings.NewReader(text), to)
	if err != nil || uri != "ahp-session:/s" || count != (Count{Chats: 2, Turns: 2}) {
		t.Fatalf("imported %s: %+v, %v", uri, count, err)
	}
	if again := export(t, to); again != text {
		t.Errorf("exported\n%s\nwant\n%s", again, text)
	}
	if !strings.Contains(text, `"title":"new"`) || !strings.Contains(text, "x-unknown") || !strings.Contains(text, `"activeTurn"`) {
		t.Errorf("something is missing in\n%s", text)
	}
	if _, _, err := Import(strings.NewReader(text), to); !errors.Is(err, ErrExists) {
		t.Errorf("a second time: %v", err)
	}
}

// TestRefusedFiles: nothing of a file that is not complete and right is there
// afterwards.
func TestRefusedFiles(t *testing.T) {
	text := export(t, example(t))
	lines := strings.SplitAfter(text, "\n")
	without := func(i int) string { return strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "") }
	files := map[string]string{
		"empty": "", "not JSON": "my novel\n", "a newer format": strings.Replace(text, `"format":1`, `"format":2`, 1),
		"a line after the end": text + lines[1], "a state that is none": strings.Replace(text, `"title":"new"`, `"title":7`, 1),
		"not a session": strings.Replace(text, "ahp-session:/s", "ahp-chat:/s", 1),
	}
	for i := range lines[:len(lines)-1] {
		files[fmt.Sprint("without line ", i+1)] = without(i)
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			to := journal.NewMemory(100)
			if _, _, err := Import(strings.NewReader(file), to); err == nil {
				t.Error("imported")
			}
			if r, err := to.Recover(10, 10); err != nil || len(r.Channels) > 0 {
				t.Errorf("%d channels are there: %v", len(r.Channels), err)
			}
		})
	}
}

// unwritable refuses the nth write or save.
type unwritable struct {
	*journal.Memory
	left int
}

var errFull = errors.New("no space left on device")

func (u *unwritable) Write(group []*journal.Record) error {
	if u.left--; u.left == 0 {
		return errFull
	}
	return u.Memory.Write(group)
}

func (u *unwritable) Save(img *journal.Image) error {
	if u.left--; u.left == 0 {
		return errFull
	}
	return u.Memory.Save(img)
}

// TestImportCutShort: the session is there whole or not at all, whichever write is
// the last, and the import can be tried again.
func TestImportCutShort(t *testing.T) {
	text := export(t, example(t))
	for nth := 1; ; nth++ {
		to := journal.NewMemory(100)
		_, _, err := Import(strings.NewReader(text), &unwritable{to, nth})
		if err == nil {
			if nth < 6 {
				t.Errorf("only %d writes", nth-1)
			}
			return
		}
		if _, _, err := to.Load("ahp-session:/s"); !errors.Is(err, journal.ErrNoChannel) {
			t.Errorf("cut at write %d, the session is there: %v", nth, err)
		}
		if _, _, err := Import(strings.NewReader(text), to); err != nil {
			t.Errorf("again after write %d: %v", nth, err)
		}
		if state, err := host.ReadState(to, "ahp-chat:/1", reducer.Apply); err != nil || state == nil {
			t.Error(err)
		}
	}
}
