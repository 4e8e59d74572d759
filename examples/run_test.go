package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

func TestApproveDecidesByTheRule(t *testing.T) {
	s := newStage(t)
	p := s.run(t, "approve", s.chat.URI(), "read", "grep")
	var answers, out string
	for _, tool := range []string{"read", "rm"} {
		answers += text(s.prompt(t, tool)) + "; "
		out += p.until(t, func(string) bool { return true })
	}
	p.interrupt(t)
	if answers != "used read; may not use rm; " {
		t.Errorf("the agent %s", answers)
	}
	if want := "read: approved true: done\nrm: approved false: done\n"; out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
}

func TestWatchPrintsTheChat(t *testing.T) {
	s := newStage(t)
	p := s.run(t, "watch", s.chat.URI())
	out := p.until(t, func(string) bool { return true }) // it is at the snapshot
	approveAll(t, s.chat)
	s.prompt(t, "read")
	out += p.until(t, func(line string) bool { return line == "-- chat/turnComplete" })
	p.interrupt(t)
	if want := "-- 0 turns so far\n> read\nused read\n-- chat/turnComplete\n"; out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
}

// approveAll approves the next tool call as soon as it waits.
func approveAll(t *testing.T, chat *client.Chat) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, err := range chat.Updates(t.Context()) {
			if err != nil {
				return // the test is over
			}
			for _, call := range chat.WaitingCalls() {
				_, _ = chat.Confirm(call.ToolCallID, true, client.ConfirmOptions{})
			}
		}
	}()
	t.Cleanup(func() { <-done })
}

func TestMirrorKeepsTheNewestState(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "session.json")
	p := s.run(t, "mirror", s.session.URI(), file)
	for _, title := range []string{"one", "two", "three"} {
		if err := s.session.SetTitle(title).Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	p.until(t, func(string) bool { return mirrored(t, file).Title == "three" })
	p.interrupt(t)
	wanted := s.session.Confirmed().(*ahp.SessionState)
	if got := mirrored(t, file); got.Title != wanted.Title || len(got.Chats) != len(wanted.Chats) {
		t.Errorf("mirrored %+v, want %+v", got, wanted)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".mirror-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// mirrored reads the file, which is whole at any moment.
func mirrored(t *testing.T, file string) *ahp.SessionState {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s ahp.SessionState
	if err := ahp.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestUsageIsShownForMissingArguments(t *testing.T) {
	for _, name := range []string{"approve", "mirror", "watch"} {
		out, err := exec.Command(filepath.Join(programs, name)).CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "usage: "+name+" URL ") {
			t.Errorf("%s: %v, %q", name, err, out)
		}
	}
}

// text is what a turn was answered with.
func text(turn *ahp.Turn) (s string) {
	for _, p := range turn.ResponseParts.All() {
		if m, ok := p.Part.(*ahp.MarkdownPart); ok {
			s += m.Content.String()
		}
	}
	return s
}
