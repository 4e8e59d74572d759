package program_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/service/program"
	"github.com/go-json-experiment/json/jsontext"
)

// modeVariable makes the test binary a program of a kind.
const modeVariable = "PROGRAM_TEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		play(mode)
		return
	}
	os.Exit(m.Run())
}

// play is a program that answers lines in a way of its own.
func play(mode string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	var held []string
	for in.Scan() {
		params, _ := jsonrpc.Member(in.Bytes(), "params")
		id, hasID := jsonrpc.Member(in.Bytes(), "id")
		switch mode {
		case "params": // knows no ids, answers every line
			fmt.Printf("%s\n", params)
		case "ids": // answers calls only, three at a time and backwards
			if hasID {
				held = append(held, fmt.Sprintf(`{"id":%s,"result":%s}`, id, params))
			}
			if len(held) == 3 {
				fmt.Printf("%s\n%s\n%s\n", held[2], held[1], held[0])
				held = nil
			}
		case "say": // writes its params, which are text, as they are
			text, _ := jsonrpc.StringValue(params)
			fmt.Println(text)
		case "pairs": // answers every other line, and then both
			fmt.Fprintln(os.Stderr, "held")
			if held = append(held, string(params)); len(held) == 2 {
				fmt.Printf("%s\n%s\n", held[0], held[1])
				held = nil
			}
		case "die":
			fmt.Fprintln(os.Stderr, "a reason")
			os.Exit(3)
		case "silent":
		case "endless":
			for {
				fmt.Print(strings.Repeat("x", 1<<16))
			}
		}
	}
}

func start(t *testing.T, mode string, o program.Options) *program.Program {
	t.Helper()
	o.Command = process.Command{Argv: []string{os.Args[0]}, Env: append(os.Environ(), modeVariable+"="+mode)}
	if o.PauseMin == 0 {
		o.PauseMin = time.Millisecond
	}
	p, err := program.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

var sender = client.Sender{ClientID: "them"}

func call(t *testing.T, p *program.Program, params string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := p.HandleCall(ctx, sender, "m", jsontext.Value(params))
	raw, _ := result.(jsontext.Value)
	return string(raw), err
}

// TestOneLineInOneLineOut: a program that knows no ids answers every line in
// order; what it answers to notifications goes nowhere.
func TestOneLineInOneLineOut(t *testing.T) {
	p := start(t, "params", program.Options{})
	for i := range 50 {
		p.HandleNotification(t.Context(), sender, "n", jsontext.Value(`"notified"`))
		want := fmt.Sprint(i)
		if got, err := call(t, p, want); got != want || err != nil {
			t.Fatalf("call %d: %s, %v", i, got, err)
		}
	}
}

// TestAnswersWithIDs come in any order, and notifications need none.
func TestAnswersWithIDs(t *testing.T) {
	p := start(t, "ids", program.Options{})
	for range 3 {
		p.HandleNotification(t.Context(), sender, "n", jsontext.Value(`null`))
		var work sync.WaitGroup
		for i := range 3 {
			work.Go(func() {
				if got, err := call(t, p, fmt.Sprint(i)); got != fmt.Sprint(i) || err != nil {
					t.Errorf("call %d: %s, %v", i, got, err)
				}
			})
		}
		work.Wait()
	}
}

func TestWhatALineMeans(t *testing.T) {
	p := start(t, "say", program.Options{})
	for _, tt := range []struct {
		line, result string
		err          *ahp.Error
	}{
		{`{"result":[1, 2]}`, `[1, 2]`, nil},
		{`{"id":null,"result":1}` + "\n" + `{"a":1}`, `{"a":1}`, nil},
		{"\n\n" + `"text"`, `"text"`, nil},
		{`{"error":{"code":7,"message":"no","data":[1]}}`, ``, &ahp.Error{Code: 7, Message: "no", Data: jsontext.Value(`[1]`)}},
		{`{"error":"just text"}`, ``, &ahp.Error{Code: jsonrpc.CodeInternal, Message: "just text"}},
		{`{"error":5}`, ``, &ahp.Error{Code: jsonrpc.CodeInternal, Message: "the program answered with an error of another form than {code, message, data}"}},
		{`no JSON`, ``, &ahp.Error{Code: jsonrpc.CodeInternal, Message: "the program answered with a line that is not JSON"}},
	} {
		quoted, _ := jsontext.AppendQuote(nil, tt.line)
		got, err := call(t, p, string(quoted))
		var wire *ahp.Error
		errors.As(err, &wire)
		if got != tt.result || (wire == nil) != (tt.err == nil) || wire != nil && (wire.Code != tt.err.Code || wire.Message != tt.err.Message || string(wire.Data) != string(tt.err.Data)) {
			t.Errorf("line %q: result %s, error %v (%v)", tt.line, got, wire, err)
		}
	}
}

// TestTheLineOfACall is as the documentation says, on one line.
func TestTheLineOfACall(t *testing.T) {
	c, err := program.Start(t.Context(), program.Options{Command: process.Command{Argv: []string{"cat"}, Env: os.Environ()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := call(t, c, "{\n\"a\": [1,\t2]}")
	if want := `{"id":1,"method":"m","params":{"a":[1,2]},"sender":"them"}`; got != want || err != nil {
		t.Errorf("the program got %s, %v\nwant %s", got, err, want)
	}
}

// TestCancelledCallKeepsItsPlace: the answer it gets too late is nobody else's.
func TestCancelledCallKeepsItsPlace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The program answers the first line only with the second; that it has the first
	// it says on its stderr.
	p := start(t, "pairs", program.Options{Stderr: writerFunc(func(b []byte) (int, error) {
		cancel()
		return len(b), nil
	})})
	if _, err := p.HandleCall(ctx, sender, "m", jsontext.Value(`1`)); !errors.Is(err, context.Canceled) {
		t.Fatalf("first call: %v", err)
	}
	if got, err := call(t, p, `2`); got != "2" || err != nil {
		t.Errorf("second call: %s, %v", got, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestProgramThatEnds is started again; the call it ended with fails and says so.
func TestProgramThatEnds(t *testing.T) {
	var stderr bytes.Buffer
	p := start(t, "die", program.Options{MaxFailures: 3, Stderr: &stderr})
	for range 3 {
		if _, err := call(t, p, `1`); !errors.Is(err, ahp.ErrClientServiceUnavailable) {
			t.Errorf("call: %v, want unavailable", err)
		}
	}
	<-p.Done()
	if err := p.Err(); err == nil || err.Error() != "the program has ended 3 times in a row: exit status 3: a reason" {
		t.Errorf("the end: %v", err)
	}
	if _, err := call(t, p, `1`); !errors.Is(err, ahp.ErrClientServiceUnavailable) {
		t.Errorf("call after the end: %v", err)
	}
	_ = p.Close()
	if got := strings.Count(stderr.String(), "a reason\n"); got != 3 {
		t.Errorf("the reason was shown %d times", got)
	}
}

func TestProgramThatCannotStart(t *testing.T) {
	_, err := program.Start(t.Context(), program.Options{Command: process.Command{Argv: []string{"/no/such/program"}}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("start: %v", err)
	}
}

// TestLineWithoutEnd ends the program, and what was kept of it is bounded.
func TestLineWithoutEnd(t *testing.T) {
	p := start(t, "endless", program.Options{MaxFailures: 1})
	if _, err := call(t, p, `1`); !errors.Is(err, ahp.ErrClientServiceUnavailable) {
		t.Errorf("call: %v", err)
	}
	<-p.Done()
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "a line of the program is too long") {
		t.Errorf("the end: %v", err)
	}
}

// TestCloseEndsEverything: a program that says nothing and reads all is ended,
// with the calls that wait for it.
func TestCloseEndsEverything(t *testing.T) {
	p := start(t, "silent", program.Options{})
	done := make(chan error)
	go func() { _, err := p.HandleCall(t.Context(), sender, "m", jsontext.Value(`1`)); done <- err }()
	_ = p.Close()
	if err := <-done; !errors.Is(err, ahp.ErrClientServiceUnavailable) {
		t.Errorf("call: %v", err)
	}
	if p.Err() != nil {
		t.Errorf("after Close: %v", p.Err())
	}
}
