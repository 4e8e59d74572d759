package acp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// An agent reads and writes inside the session's directories and nowhere else,
// whatever links stand in between (agents.md, 1.2 and 4.1).
func TestFilesStayInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "a"), "1\n2\n3\n")
	write(filepath.Join(dir, "bin"), "\xff\x00")
	write(filepath.Join(outside, "secret"), "secret")
	link(filepath.Join(outside, "secret"), "out")
	link(outside, "outdir")
	link("a", "in")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := openFiles(FilesReadWrite, []string{dir})
	defer f.close()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, tt := range []struct {
		path        string
		line, limit *int64
		want        string // or the error
	}{
		{in("a"), nil, nil, "1\n2\n3\n"},
		{in("a"), new(int64(2)), nil, "2\n3\n"},
		{in("a"), new(int64(2)), new(int64(1)), "2\n"},
		{in("a"), new(int64(9)), nil, ""},
		{in("a"), new(int64(0)), new(int64(0)), ""},
		{in("in"), nil, nil, "1\n2\n3\n"},
		{in("bin"), nil, nil, "\ufffd\x00"},
		{in("missing"), nil, nil, "-32002"},
		{in("pipe"), nil, nil, "-32602"},
		{dir, nil, nil, "-32602"},
		{"a", nil, nil, "-32602"},
		{filepath.Join(outside, "secret"), nil, nil, "-32602"},
		{in("../" + filepath.Base(outside) + "/secret"), nil, nil, "-32602"},
		{in("out"), nil, nil, "-32603"},
		{in("outdir/secret"), nil, nil, "-32603"},
	} {
		r, err := f.read(t.Context(), &readParams{Path: tt.path, Line: tt.line, Limit: tt.limit})
		if got := shown(r, err); got != tt.want {
			t.Errorf("read %s: %q (%v), want %q", tt.path, got, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), dir) {
			t.Errorf("read %s: the error tells where files are: %v", tt.path, err)
		}
	}
	for path, ok := range map[string]bool{
		in("new/deep/file"): true, in("a"): true, in("in"): true,
		in("out"): false, in("outdir/x"): false, filepath.Join(outside, "x"): false, in("pipe"): false, dir: false, "rel": false,
	} {
		if _, err := f.write(t.Context(), &writeParams{Path: path, Content: "new"}); (err == nil) != ok {
			t.Errorf("write %s: %v", path, err)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(outside, "secret")); string(got) != "secret" {
		t.Errorf("the file outside is %q", got)
	}
	if got, _ := os.ReadFile(in("a")); string(got) != "new" {
		t.Errorf("the file inside is %q", got)
	}
}

func shown(r any, err error) string {
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		return strings.TrimSpace(strings.Split(strings.TrimRight(wire.Error(), ")"), "(")[1])
	case err != nil:
		return err.Error()
	}
	return r.(readResult).Content
}

func TestFileAccess(t *testing.T) {
	for access, want := range map[FileAccess][2]bool{FilesReadWrite: {true, true}, FilesReadOnly: {true, false}, FilesNone: {false, false}} {
		f := openFiles(access, []string{t.TempDir()})
		if got := [2]bool{f.mayRead(), f.mayWrite()}; got != want {
			t.Errorf("access %d: %v, want %v", access, got, want)
		}
		if _, err := f.write(t.Context(), &writeParams{}); access != FilesReadWrite && !errors.Is(err, jsonrpc.ErrMethodNotFound) {
			t.Errorf("access %d: write %v", access, err)
		}
		f.close()
	}
}

// Terminals: output, exit, kill, release, and what is left of them afterwards
// (agents.md, 1.2).
func TestTerminals(t *testing.T) {
	dir := t.TempDir()
	f := openFiles(FilesReadWrite, []string{dir})
	defer f.close()
	changed := make(chan struct{}, 1024)
	ts := newTerminals(t.Context(), f, dir, []string{"PATH=/usr/bin:/bin"}, func() { changed <- struct{}{} })
	defer ts.close()
	create := func(p terminalParams) string {
		t.Helper()
		r, err := ts.create(&p)
		if err != nil {
			t.Fatal(err)
		}
		return r.(terminalRef).TerminalID
	}
	wait := func(id string) *exitStatus {
		t.Helper()
		r, err := ts.wait(t.Context(), &terminalRef{id})
		if err != nil {
			t.Fatal(err)
		}
		return r.(*exitStatus)
	}
	output := func(id string) terminalOutput {
		t.Helper()
		r, err := ts.output(&terminalRef{id})
		if err != nil {
			t.Fatal(err)
		}
		return r.(terminalOutput)
	}

	id := create(terminalParams{Command: "sh", Args: []string{"-c", "echo $A; pwd; exit 3"}, Env: []envVar{{"A", "x"}}})
	if e := wait(id); e.Signal != nil || *e.ExitCode != 3 {
		t.Errorf("exit %+v", e)
	}
	if o := output(id); o.Output != "x\n"+dir+"\n" || o.Truncated || *o.ExitStatus.ExitCode != 3 {
		t.Errorf("output %+v", o)
	}
	if c, ok := ts.content(id); !ok || *c.Text != "x\n"+dir+"\n[exit status 3]\n" {
		t.Errorf("content %+v", c)
	}

	id = create(terminalParams{Command: "printf 'ääää' && true", OutputByteLimit: new(5)})
	wait(id)
	if o := output(id); o.Output != "ää" || !o.Truncated {
		t.Errorf("a command line, cut at the front: %+v", o)
	}

	id = create(terminalParams{Command: "sleep", Args: []string{"60"}})
	if o := output(id); o.ExitStatus != nil || !ts.running() {
		t.Errorf("a running command: %+v", o)
	}
	if _, err := ts.kill(&terminalRef{id}); err != nil {
		t.Error(err)
	}
	if e := wait(id); e.Signal == nil || *e.Signal != "SIGKILL" {
		t.Errorf("killed: %+v", e)
	}
	if _, err := ts.kill(&terminalRef{id}); err != nil {
		t.Errorf("killed again: %v", err)
	}

	id = create(terminalParams{Command: "sh", Args: []string{"-c", "echo begun; sleep 60"}})
	for output(id).Output == "" {
		<-changed
	}
	if _, err := ts.release(t.Context(), &terminalRef{id}); err != nil {
		t.Error(err)
	}
	if _, err := ts.output(&terminalRef{id}); err == nil {
		t.Error("a released terminal is still there for the agent")
	}
	if c, ok := ts.content(id); !ok || !strings.HasPrefix(*c.Text, "begun\n") {
		t.Errorf("what it wrote is gone: %+v", c)
	}
	if ts.running() {
		t.Error("something still runs")
	}

	for _, bad := range []terminalParams{
		{Command: "no-such-program-anywhere"}, {Command: "ls", Cwd: new("/")}, {Command: "ls", Cwd: new(filepath.Join(dir, "gone"))},
	} {
		if _, err := ts.create(&bad); err == nil {
			t.Errorf("%+v was started", bad)
		}
	}
}

func TestTerminalsAreBounded(t *testing.T) {
	dir := t.TempDir()
	f := openFiles(FilesNone, []string{dir})
	ts := newTerminals(t.Context(), f, dir, nil, func() {})
	defer ts.close()
	for i := range maxTerminals + 1 {
		if _, err := ts.create(&terminalParams{Command: "/bin/true"}); (err == nil) != (i < maxTerminals) {
			t.Fatalf("terminal %d: %v", i, err)
		}
	}
}

// The output of a terminal stands in the tool call that names it.
func TestTerminalInACall(t *testing.T) {
	w := newWorld(t, Options{})
	defer w.end()
	done := make(chan error, 1)
	spec := agent.Spec{Directories: []ahp.URI{agent.FileURI(t.TempDir())}}
	go func() {
		var err error
		w.session, err = w.provider.Open(t.Context(), spec, w.host)
		done <- err
	}()
	<-w.launches
	w.agent.handshake(plainInit, plainSession)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r := w.turn("t1")
	w.agent.request(1, "terminal/create", `"command":"sh","args":["-c","echo out"]`)
	if got := w.agent.answer(1); got != `{"terminalId":"term-1"}` {
		t.Fatalf("answer %s", got)
	}
	w.agent.tool("tool_call", `"toolCallId":"c","title":"Run","kind":"execute","status":"in_progress","content":[{"type":"terminal","terminalId":"term-1"}]`)
	w.agent.request(2, "terminal/wait_for_exit", `"terminalId":"term-1"`)
	if got := w.agent.answer(2); got != `{"exitCode":0,"signal":null}` {
		t.Errorf("answer %s", got)
	}
	w.agent.request(3, "terminal/release", `"terminalId":"term-1"`)
	if got := w.agent.answer(3); got != `{}` {
		t.Errorf("answer %s", got)
	}
	w.agent.tool("tool_call_update", `"toolCallId":"c","status":"completed"`)
	w.agent.reply(r.prompt, `{"stopReason":"end_turn"}`)
	<-r.outcome
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	if last := w.host.events[len(w.host.events)-1]; last != "end 1.c ok out\n" {
		t.Errorf("told %q", w.host.events)
	}
}
