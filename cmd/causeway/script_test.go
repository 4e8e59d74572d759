package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/coder/websocket"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the program itself when it is called causeway:
// by a script, or by startLocal.
func TestMain(m *testing.M) {
	_ = os.Setenv("GORACE", goRace)
	testscript.Main(m, map[string]func(){"causeway": main})
}

// goRace keeps the race detector from sleeping for a second at the end of every
// process the tests start.
const goRace = "atexit_sleep_ms=0"

// TestScripts runs testdata/script, which reads like the manual. Beside the
// commands of testscript there are
//
//	exits CODE COMMAND ARG...    runs a command and wants its exit code
//	ready DIR                    waits until the host of DIR is ready
//	gone DIR                     waits until no host runs on DIR
//	upgrade DIR STATUS WHAT...   asks the host for a WebSocket: WHAT is a query
//	                             such as tkn=$TOKEN, or a header such as Host:x
//	say DIR MESSAGE...           sends messages over the Unix socket, each after
//	                             an answer to the one before
//	address DIR VAR              sets VAR to the address of the host of DIR
//	own DIR VAR                  sets VAR to the token of DIR
//	env-from VAR FILE            sets VAR to the first line of a file
//	mode FILE MODE               wants the permissions of a file
//	hook VAR FILE STATUS...      receives webhooks: VAR is its URL, each answer has
//	                             the next status, each request is a line of FILE
//	json-env VAR FILE NAME [N]   sets VAR to a member of the object in line N of FILE
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("GORACE", goRace)
			e.Setenv("INITIALIZE", initializeMessage)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			return os.Mkdir(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits, "ready": scriptReady, "gone": scriptGone, "upgrade": scriptUpgrade,
			"say": scriptSay, "address": scriptAddress, "own": scriptOwn, "env-from": scriptEnvFrom, "mode": scriptMode,
			"hook": scriptHook, "json-env": scriptJSONEnv,
		},
	})
}

// scriptWait is what a script waits for another process at most.
const scriptWait = time.Minute

func scriptArgs(ts *testscript.TestScript, neg bool, args []string, atLeast int) {
	if neg || len(args) < atLeast {
		ts.Fatalf("wrong use of a command, see TestScripts")
	}
}

func scriptContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), scriptWait)
}

func scriptDir(ts *testscript.TestScript, path string) datadir.Dir {
	d, err := datadir.At(ts.MkAbs(path))
	ts.Check(err)
	return d
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 2)
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("run: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// awaitHost waits for the host of a directory to be ready.
func awaitHost(ctx context.Context, d datadir.Dir) (datadir.Host, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		h, err := d.Find()
		if err == nil {
			return h, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return h, fmt.Errorf("no host came: %w", err)
		}
	}
}

func scriptReady(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 1)
	ctx, cancel := scriptContext()
	defer cancel()
	_, err := awaitHost(ctx, scriptDir(ts, args[0]))
	ts.Check(err)
}

func scriptGone(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 1)
	ctx, cancel := scriptContext()
	defer cancel()
	ts.Check(scriptDir(ts, args[0]).WaitGone(ctx))
}

func scriptUpgrade(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 2)
	h, err := scriptDir(ts, args[0]).Find()
	ts.Check(err)
	target := url.URL{Scheme: "ws", Host: h.Address, Path: "/"}
	o := &websocket.DialOptions{HTTPHeader: make(http.Header)}
	for _, what := range args[2:] {
		if name, value, ok := strings.Cut(what, ":"); !ok {
			target.RawQuery = what
		} else if name == "Host" {
			o.Host = value
		} else {
			o.HTTPHeader.Add(name, value)
		}
	}
	ctx, cancel := scriptContext()
	defer cancel()
	c, resp, err := websocket.Dial(ctx, target.String(), o)
	if resp == nil {
		ts.Fatalf("no answer: %v", err)
	}
	if c != nil {
		_ = c.Close(websocket.StatusNormalClosure, "")
	}
	if got := strconv.Itoa(resp.StatusCode); got != args[1] {
		ts.Fatalf("status %s, want %s", got, args[1])
	}
}

func scriptSay(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 2)
	h, err := scriptDir(ts, args[0]).Find()
	ts.Check(err)
	ctx, cancel := scriptContext()
	defer cancel()
	c, err := dialUnix(ctx, h.Socket)
	ts.Check(err)
	for _, message := range args[1:] {
		ts.Check(c.Write(ctx, websocket.MessageText, []byte(message)))
		_, answer, err := c.Read(ctx)
		ts.Check(err)
		ts.Logf("[answer]\n%s", answer)
	}
	ts.Check(c.Close(websocket.StatusNormalClosure, ""))
}

func scriptAddress(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 2)
	h, err := scriptDir(ts, args[0]).Find()
	ts.Check(err)
	ts.Setenv(args[1], h.Address)
}

func scriptOwn(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 2)
	token, err := scriptDir(ts, args[0]).Token()
	ts.Check(err)
	ts.Setenv(args[1], token)
}

func scriptEnvFrom(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 2)
	line, _, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	ts.Setenv(args[0], line)
}

func scriptMode(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 2)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}

// TestEveryCommandIsInAScript keeps the scripts complete.
func TestEveryCommandIsInAScript(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var all []string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	for _, cmd := range newRoot().Commands() {
		use := "causeway " + cmd.Name()
		if !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, use) }) {
			t.Errorf("no script runs %q", use)
		}
	}
}
