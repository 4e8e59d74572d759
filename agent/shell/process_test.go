package shell

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/agent/process"
)

func TestExitAndOutput(t *testing.T) {
	w := newWorld(t)
	w.write(t, "sub/x", "")
	for _, tt := range []struct {
		name, line, output string
		code               int
		signal, problem    string
	}{
		{"success", "echo hi", "hi\n", 0, "", ""},
		{"silence", "true", "", 0, "", ""},
		{"exit code", "echo no >&2; exit 3", "no\n", 3, "", "exit status 3"},
		{"order of both outputs", "echo 1; echo 2 >&2; echo 3; echo 4 >&2", "1\n2\n3\n4\n", 0, "", ""},
		{"unknown program", "no-such-program-here 2>/dev/null", "", 127, "", "exit status 127"},
		{"killed", "kill -9 $$", "", 137, "SIGKILL", "killed by SIGKILL"},
		{"terminated", "echo a; kill $$; sleep 60", "a\n", 143, "SIGTERM", "killed by SIGTERM"},
		{"not utf-8", `printf 'a\377\344b\303'`, "a\ufffdb\ufffd", 0, "", ""},
		{"zero bytes", `printf 'a\000b'`, "a\x00b", 0, "", ""},
		{"no input", "cat -", "", 0, "", ""},
		{"plain output", "echo $PAGER $GIT_PAGER $TERM $NO_COLOR", "cat cat dumb 1\n", 0, "", ""},
		{"no secrets", "env | grep -c CAUSEWAY", "0\n", 1, "", "exit status 1"},
		{"directory", `test "$PWD" = "$(pwd)" && ls -d sub`, "sub\n", 0, "", ""},
		{"leads with a dash", "-x 2>/dev/null", "", 127, "", "exit status 127"},
		{"background without output", "sleep 0 & wait; echo done", "done\n", 0, "", ""},
		{"zero byte in the command", "echo a\x00b", "", 126, "", "could not be started"},
		{"too long", "true " + strings.Repeat("x", 4<<20), "", 126, "", "the command is too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := w.run(t, tt.line)
			if got := outputText(r); got != tt.output {
				t.Errorf("output %q, want %q", got, tt.output)
			}
			if got, want := details(t, r), (Details{ExitCode: tt.code, Signal: tt.signal}); got != want {
				t.Errorf("details %+v, want %+v", got, want)
			}
			problem := ""
			if r.Error != nil {
				problem = r.Error.Message
			}
			if problem != tt.problem || r.Success != (tt.problem == "") {
				t.Errorf("success %v with error %q, want %q", r.Success, problem, tt.problem)
			}
		})
	}
}

func TestDirectoryGone(t *testing.T) {
	w := openIn(t, filepath.Join(t.TempDir()))
	if err := os.Remove(w.dir); err != nil {
		t.Fatal(err)
	}
	if r := w.run(t, "ls"); r.Success || r.Error.Message != "the working directory is gone" || details(t, r).ExitCode != 126 {
		t.Errorf("result %+v", r)
	}
}

// leader returns the process group a command has printed.
func leader(t *testing.T, w *world) int {
	t.Helper()
	e := w.waitFor(t, isContent).(agent.ToolContent)
	pgid, err := strconv.Atoi(strings.TrimSpace(*e.Content[0].Text))
	if err != nil {
		t.Fatal(err)
	}
	if !process.Alive(pgid) {
		t.Fatalf("group %d does not run", pgid)
	}
	return pgid
}

func TestCancelEndsTheGroup(t *testing.T) {
	for _, tt := range []struct{ name, line string }{
		{"terminated", "echo $$; sleep 60 & sleep 60; wait"},
		{"stopped", "echo $$; sleep 60 & kill -STOP $!; wait"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.confirm = approve
			outcome := make(chan agent.Outcome, 1)
			go func() { outcome <- w.prompt(t, tt.line+"\necho never") }()
			pgid := leader(t, w)
			w.session.Cancel("t0") // another turn
			w.session.Cancel("t1")
			if o := <-outcome; o.Result != agent.Cancelled {
				t.Errorf("outcome %+v", o)
			}
			if process.Alive(pgid) {
				t.Errorf("group %d still runs", pgid)
			}
			finished := eventsOf[agent.ToolFinished](w.fakeHost)
			if len(finished) != 1 || finished[0].Result.Success || finished[0].Result.Error.Message != "cancelled" {
				t.Fatalf("finished %+v", finished)
			}
		})
	}
}

// TestCancelKillsTheDeaf takes as long as the grace for SIGTERM.
func TestCancelKillsTheDeaf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.confirm = approve
	outcome := make(chan agent.Outcome, 1)
	go func() { outcome <- w.prompt(t, `trap "" TERM; echo $$; sleep 60; sleep 60`) }()
	pgid := leader(t, w)
	begun := time.Now()
	w.session.Cancel("t1")
	if o := <-outcome; o.Result != agent.Cancelled {
		t.Errorf("outcome %+v", o)
	}
	if took := time.Since(begun); took < process.TermGrace || took > process.TermGrace+process.KillGrace {
		t.Errorf("took %v", took)
	}
	if process.Alive(pgid) {
		t.Errorf("group %d still runs", pgid)
	}
	if d := details(t, eventsOf[agent.ToolFinished](w.fakeHost)[0].Result); d.Signal != "SIGKILL" {
		t.Errorf("details %+v", d)
	}
}

func TestBackgroundIsEnded(t *testing.T) {
	for _, tt := range []struct{ name, line string }{
		{"holds the pipe", "echo $$; sleep 60 &"},
		{"holds nothing", "echo $$; sleep 60 </dev/null >/dev/null 2>&1 &"},
		{"grandchild", "echo $$; (sleep 60 & sleep 60) & exit 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.run(t, tt.line)
			pid, rest, _ := strings.Cut(outputText(r), "\n")
			if pgid, err := strconv.Atoi(pid); err != nil || process.Alive(pgid) {
				t.Errorf("group %q still runs (%v)", pid, err)
			}
			if !r.Success || !strings.Contains(rest, "background") {
				t.Errorf("success %v, note %q", r.Success, rest)
			}
			if s := w.provider.Stats(); s.Background != 1 || s.Abandoned != 0 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

// TestEscapedHolderOfThePipe: who has left the group may keep the pipe, and the
// turn still ends.
func TestEscapedHolderOfThePipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(t, escapeEnv+`=pid `+os.Args[0]+` & while ! test -s pid; do sleep 0.01; done; echo end`)
	raw, err := os.ReadFile(filepath.Join(w.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	if !process.Alive(pid) {
		t.Error("the process did not escape, so nothing was tested")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if got := outputText(r); !r.Success || got != "end\n" {
		t.Errorf("success %v, output %q", r.Success, got)
	}
}

func TestBurst(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "seq 100000")
	const total = 588895
	note, text, _ := strings.Cut(outputText(r), "\n")
	omitted := total - len(text)
	if want := "[" + strconv.Itoa(omitted) + " bytes of output left out]"; note != want {
		t.Errorf("note %q, want %q", note, want)
	}
	if n := len(note) + 1 + len(text); n > KeptBytes || n < KeptBytes-64 {
		t.Errorf("%d bytes kept, want about %d", n, KeptBytes)
	}
	if !strings.HasSuffix(text, "\n99999\n100000\n") {
		t.Errorf("ends with %q", text[len(text)-20:])
	}
	if d := details(t, r); d.OmittedBytes != int64(omitted) || !r.Success {
		t.Errorf("success %v, details %+v, want %d omitted", r.Success, d, omitted)
	}
}

// TestHostBehind: while the host takes its time over one event the command runs
// on, and nothing piles up.
func TestHostBehind(t *testing.T) {
	w := newWorld(t)
	fifo := filepath.Join(w.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	w.onEmit = func(e agent.Event) error {
		if isContent(e) && len(eventsOf[agent.ToolContent](w.fakeHost)) == 1 {
			_, err := os.ReadFile(fifo) // until the command is through with its output
			return err
		}
		return nil
	}
	r := w.run(t, "echo begin; seq 100000; echo through >fifo; echo end")
	if got := outputText(r); !strings.HasSuffix(got, "100000\nend\n") {
		t.Errorf("ends with %q", got[max(0, len(got)-20):])
	}
	if n := len(eventsOf[agent.ToolContent](w.fakeHost)); n == 0 || n > 2 {
		t.Errorf("published %d times", n)
	}
}

func TestLiveOutput(t *testing.T) {
	w := newWorld(t)
	var times []time.Time
	w.onEmit = func(e agent.Event) error {
		if isContent(e) {
			times = append(times, time.Now())
		}
		return nil
	}
	w.run(t, `for i in $(seq 30); do seq 1000; printf 'ä\303'; sleep 0.01; printf '\244'; done`)
	if len(times) < 3 {
		t.Fatalf("published %d times", len(times))
	}
	for i := 1; i < len(times); i++ {
		if gap := times[i].Sub(times[i-1]); gap < nextPublish {
			t.Errorf("published again after %v", gap)
		}
	}
	for _, e := range eventsOf[agent.ToolContent](w.fakeHost) {
		if text := *e.Content[0].Text; len(text) > liveBytes || !utf8.ValidString(text) || strings.Contains(text, "\ufffd") {
			t.Errorf("published %d bytes, valid %v", len(text), utf8.ValidString(text))
		}
	}
}

func TestOutputLimit(t *testing.T) {
	w := newWorld(t)
	r := w.run(t, "echo $$ >pid; yes")
	d := details(t, r)
	if r.Success || r.Error.Message != "ended after 16 MiB of output" || d.Signal != "SIGTERM" {
		t.Errorf("error %+v, details %+v", r.Error, d)
	}
	note, text, _ := strings.Cut(outputText(r), "\n")
	if d.OmittedBytes+int64(len(text)) != MaxOutputBytes {
		t.Errorf("%d omitted and %d kept (%s), want %d", d.OmittedBytes, len(text), note, MaxOutputBytes)
	}
	if s := w.provider.Stats(); s.OverLimit != 1 {
		t.Errorf("stats %+v", s)
	}
}

func BenchmarkCommand(b *testing.B) {
	w := newWorld(b)
	s := w.session.(*session)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := process.OutputOf(b.Context(), process.Command{Argv: []string{"true"}, Dir: s.dir, Env: s.env}, probeBytes); err != nil {
			b.Fatal(err)
		}
	}
}
