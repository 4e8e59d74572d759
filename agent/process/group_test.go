package process

import (
	"bufio"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func shell(t testing.TB, script string) Command {
	return Command{Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: os.Environ()}
}

func TestOutputOf(t *testing.T) {
	if out, err := OutputOf(t.Context(), shell(t, "echo x"), 1024); out != "x\n" || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
	for _, script := range []string{"echo x; exit 1", "yes"} {
		if out, err := OutputOf(t.Context(), shell(t, script), 1024); err == nil {
			t.Errorf("%s: got %d bytes, want an error", script, len(out))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OutputOf(ctx, shell(t, "sleep 60"), 1024); err == nil {
		t.Error("a cancelled command succeeded")
	}
}

// TestChildEndsAsAGroup: End leaves nothing behind, whatever the child does with
// the end of its input and with signals.
func TestChildEndsAsAGroup(t *testing.T) {
	for _, tt := range []struct{ name, script string }{
		{"ends by itself", "echo $$; cat >/dev/null; echo last words >&2"},
		{"is deaf", `trap "" TERM HUP; echo $$; echo last words >&2; sleep 60; sleep 60`},
		{"has ended", "echo $$; echo last words >&2"},
		{"leaves somebody", "sleep 60 & echo $$; echo last words >&2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := StartChild(shell(t, tt.script))
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(p).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pgid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			p.End()
			p.End()
			if Alive(pgid) {
				t.Errorf("group %d still runs", pgid)
			}
			if p.Status() == "" || p.LastWords() != "last words" {
				t.Errorf("status %q, last words %q", p.Status(), p.LastWords())
			}
		})
	}
}

// TestChildThatIsGoneCanStillBeRead: what it wrote before its end arrives, and
// the reader ends although somebody else holds the pipe.
func TestChildThatIsGoneCanStillBeRead(t *testing.T) {
	t.Parallel()
	p, err := StartChild(shell(t, "sleep 60 & echo all of it"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	begun := time.Now()
	all, _ := io.ReadAll(p) // the deadline is an error, and the end
	if string(all) != "all of it\n" {
		t.Errorf("read %q", all)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("the reader was held up for %v", took)
	}
}

func TestChildThatCannotStart(t *testing.T) {
	if _, err := StartChild(Command{Argv: []string{"no-such-program-anywhere"}, Dir: t.TempDir()}); err == nil {
		t.Error("started")
	}
}
