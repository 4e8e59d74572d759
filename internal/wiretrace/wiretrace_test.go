package wiretrace

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// TestManual plays testdata/manual.txtar, which explains the notation.
func TestManual(t *testing.T) {
	Run(t, "testdata", newEchoWorld)
}

// TestFind checks that traces in folders are found and their absence is not
// taken for success.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	if _, err := find(dir); err == nil {
		t.Error("an empty folder passes")
	}
	if _, err := find(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a missing folder passes")
	}
	writeFile(t, filepath.Join(dir, "deep", "er", "x.txtar"), "")
	if names, err := find(dir); err != nil || len(names) != 1 || names[0] != "deep/er/x.txtar" {
		t.Errorf("find = %v, %v", names, err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// trial plays text in a bubble of its own and returns the trace with the error.
func trial(t *testing.T, text string, update bool, newWorld func(*testing.T) World) (tr *trace, err error) {
	t.Helper()
	tr, err = parseTrace("trial.txtar", []byte(text))
	if err != nil {
		return nil, err
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPlayer(newWorld(t), update)
		defer p.close()
		err = p.play(tr)
	})
	return tr, err
}

const dialled = "Prose.\n-- dial a --\n-- dial b --\n"

// TestPlay holds the runner to its purpose: each of these traces is wrong in one
// way, and the error must say in which. An empty want is a trace that is right.
func TestPlay(t *testing.T) {
	hello := "-- send a --\n{\"say\":\"hello\"}\n"
	answer := `{"seq":"$any","id":"$any","said":"hello"}` + "\n"
	missing := "missing    " + strings.TrimSpace(answer)
	tests := []struct{ name, text, want string }{
		{"right", hello + "-- expect a --\n" + answer, ""},
		{"missing message", hello + "-- expect a --\n" + answer + answer, "client a:\n  1 as wanted"},
		{"missing message is shown", hello + "-- expect a --\n" + answer + answer, "2 " + missing},
		{"silence instead", "-- send a --\n{}\n-- expect a --\n" + answer, "1 " + missing},
		{"silence is asserted", hello, `1 unexpected {"seq":`},
		{"silence may be spelled out", "-- send a --\n{}\n-- expect a --\n# nothing\n", ""},
		{"silence of others is asserted", "-- send a --\n{\"say\":1,\"to\":\"b\"}\n", "client b:\n  1 unexpected"},
		{"message to the wrong client", "-- send a --\n{\"say\":\"hello\",\"to\":\"b\"}\n-- expect a --\n" + answer, "client a:\n  1 missing"},
		{"extra message before", "-- send a --\n{\"say\":0}\n{\"say\":\"hello\"}\n-- expect a --\n" + answer, "1 unexpected"},
		{"extra message spares the rest", "-- send a --\n{\"say\":0}\n{\"say\":\"hello\"}\n-- expect a --\n" + answer, "2 as wanted"},
		{"missing message spares the rest", hello + "-- expect a --\n1\n" + answer, "1 missing    1\n  2 as wanted"},
		{"wrong value", hello + `-- expect a --
{"seq":"$any","id":"$any","said":"hallo"}`, `at /said: got "hello", want text like`},
		{"wrong order", "-- send a --\n{\"say\":1}\n{\"say\":2}\n-- expect a --\n" +
			`{"seq":"$any","id":"$any","said":2}` + "\n" + `{"seq":"$any","id":"$any","said":1}`, "3 missing"},
		{"late message is not there yet", "-- send a --\n{\"say\":\"hello\",\"after\":\"1s\"}\n-- expect a --\n" + answer, "1 missing"},
		{"late message disturbs a later step", "-- send a --\n{\"say\":1,\"after\":\"1s\"}\n-- wait 2s --\n-- do emit --\n{\"x\":1}\n",
			`trial.txtar:6: step 4, "wait 2s": unexpected outcome`},
		{"early message", "-- send a --\n{\"say\":\"hello\"}\n-- wait 1s --\n-- expect a --\n" + answer, "step 3"},
		{"unexpected end", "-- send a --\n{\"bye\":1008,\"why\":\"no\"}\n", "client a: connection ended unexpectedly: closed by peer: 1008"},
		{"end that does not come", "-- send a --\n{}\n-- closed a 1008 --\n", "client a: connection is open, want it ended"},
		{"end with any code", "-- send a --\n{\"bye\":1008}\n-- closed a --\n", ""},
		{"end with another code", "-- send a --\n{\"bye\":1009}\n-- closed a 1008 --\n", "code 1009, want 1008"},
		{"end with another reason", "-- send a --\n{\"bye\":1008,\"why\":\"no\"}\n-- closed a 1008 yes --\n", "closing reason"},
		{"use after the end", "-- send a --\n{\"bye\":1008}\n-- closed a --\n" + hello, `client "a" is not connected`},
		{"use after close", "-- close a --\n" + hello, `client "a" is not connected`},
		{"cut of a stranger", "-- cut c --\n", `client "c" is not connected`},
		{"close of a stranger", "-- close c --\n", `client "c" is not connected`},
		{"outcome for a stranger", "-- wait 1s --\n-- expect c --\n1\n", `"expect c": client "c" is not connected`},
		{"dialling twice", "-- dial a --\n", `client "a" is connected already`},
		{"dialling in vain", "-- dial stranger --\n", "dial: who are you"},
		{"unknown command", "-- do dance --\n", `unknown command "dance"`},
		{"text that is not JSON", "-- send a --\n{\"raw\":\"{nonsense\"}\n-- expect a --\n1\n", "1 differs    parse json"},
		{"duplicate names", "-- send a --\n{\"raw\":\"{\\\"x\\\":1,\\\"x\\\":1}\"}\n-- expect a --\n{\"x\":1}\n", "duplicate"},
		{"flood", "-- send a --\n{\"flood\":true}\n", "more than 10000 messages in one step"},
		{"unbound in a message", "-- send a --\n{\"say\":\"$x\"}\n", `placeholder "x" has no value yet`},
		{"unbound in a command", "-- do emit $x --\n", `placeholder "x" has no value yet`},
		{"unbound in a body", "-- do emit --\n{\"say\":\"$x\"}\n", `placeholder "x" has no value yet`},
		{"malformed in a message", "-- send a --\n{\"say\":\"${x\"}\n", "malformed placeholder"},
		{"dollar in a message", "-- send a --\n{\"say\":\"$$x $/y\"}\n-- expect a --\n" +
			`{"seq":"$any","id":"$any","said":"$$x $/y"}`, ""},
		{"binding holds", hello + "-- expect a --\n{\"seq\":\"$x\",\"id\":\"$any\",\"said\":\"hello\"}\n" +
			hello + "-- expect a --\n{\"seq\":\"$x\",\"id\":\"$any\",\"said\":\"hello\"}\n", ` as "x"`},
		{"binding as a member's name", "-- send a --\n{\"name\":1}\n-- expect a --\n{\"${x:uuid}\":1}\n" +
			"-- send a --\n{\"say\":{\"$x\":1}}\n-- expect a --\n{\"seq\":\"$any\",\"id\":\"$any\",\"said\":{\"$x\":1}}\n", ""},
		{"failed match binds nothing", "-- send a --\n{\"say\":1}\n{\"say\":2}\n-- expect a --\n" +
			`{"id":"$x","said":1,"seq":"$any"}` + "\n" + `{"id":"$y","said":2,"seq":"$any"}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := trial(t, dialled+test.text, false, newEchoWorld)
			wantError(t, err, test.want)
		})
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("failed:\n%v", err)
	case want != "" && err == nil:
		t.Errorf("passed, want an error with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error:\n%v\nwant it to contain:\n%s", err, want)
	}
}

// TestUncuttable checks that a trace with a cut is not quietly passed by a world
// that cannot cut.
func TestUncuttable(t *testing.T) {
	_, err := trial(t, dialled+"-- cut a --\n", false, func(t *testing.T) World {
		return uncuttable{newEchoWorld(t)}
	})
	wantError(t, err, "cannot cut")
}

// TestParseTrace checks the mistakes that are found before anything is played.
func TestParseTrace(t *testing.T) {
	const prose = "Prose.\n"
	tests := []struct{ name, text, want string }{
		{"no prose", "-- dial a --\n", "trace.txtar:1: no prose"},
		{"blank prose", " \n-- dial a --\n", "no prose"},
		{"no steps", prose, "no steps"},
		{"outcome first", prose + "-- expect a --\n", "nothing has been done yet"},
		{"unknown step", prose + "\n-- dail a --\n", `trace.txtar:3: "dail a": unknown step "dail"`},
		{"expect nobody", prose + "-- dial a --\n-- expect --\n", "no client named"},
		{"expect two", prose + "-- dial a --\n-- expect a b --\n", "takes one client"},
		{"expect twice", prose + "-- dial a --\n-- expect a --\n-- expect a --\n", "trace.txtar:4: \"expect a\": second section"},
		{"expect no JSON", prose + "-- dial a --\n-- expect a --\n{\n", "parse json"},
		{"expect two values", prose + "-- dial a --\n-- expect a --\n1 2\n", "more than one value"},
		{"unknown kind", prose + "-- dial a --\n-- expect a --\n[\"${x:date}\"]\n", `unknown kind "date"`},
		{"unknown kind in a name", prose + "-- dial a --\n-- expect a --\n{\"${x:date}\":1}\n", `unknown kind "date"`},
		{"any plus one", prose + "-- dial a --\n-- expect a --\n{\"x\":\"${any+1}\"}\n", "no value to add to"},
		{"malformed in a reason", prose + "-- dial a --\n-- closed a 1000 ${ --\n", "malformed"},
		{"closed with a word", prose + "-- dial a --\n-- closed a why --\n", `"why" is no close code`},
		{"closed with a body", prose + "-- dial a --\n-- closed a --\nx\n", "takes no body"},
		{"dial two", prose + "-- dial a b --\n", "2 arguments"},
		{"dial with a body", prose + "-- dial a --\nx\n", "takes no body"},
		{"send nothing", prose + "-- send a --\n# only talk\n\n", "nothing to send"},
		{"wait for what", prose + "-- wait --\n", "0 arguments"},
		{"wait for no time", prose + "-- wait 0s --\n", "no time to wait"},
		{"wait for a word", prose + "-- wait soon --\n", "no time to wait"},
		{"close nobody", prose + "-- close --\n", "0 arguments"},
		{"close with a bad code", prose + "-- close a 99 --\n", "no close code"},
		{"do nothing", prose + "-- do --\n", "0 arguments"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseTrace("trace.txtar", []byte(test.text))
			if err == nil {
				t.Fatalf("passed, want an error with %q", test.want)
			}
			wantError(t, err, test.want)
		})
	}
}

// TestUpdate checks what -update makes of a trace, and that the result passes.
func TestUpdate(t *testing.T) {
	const seq = `"seq":"${n:number}","id":"${id:uuid}"`
	tests := []struct{ name, text, want string }{
		{"nothing to do", "-- send a --\n{\"say\":1}\n-- expect a --\n# why\n{\"said\" : 1.0, " + seq + "}\n# end\n",
			"-- send a --\n{\"say\":1}\n-- expect a --\n# why\n{\"said\" : 1.0, " + seq + "}\n# end\n"},
		{"missing section", "-- send a --\n{\"raw\":\"[1, 2.50]\"}\n",
			"-- send a --\n{\"raw\":\"[1, 2.50]\"}\n-- expect a --\n[1,2.50]\n"},
		{"message that never came", "-- send a --\n{}\n-- expect a --\n# gone\n1\n",
			"-- send a --\n{}\n-- expect a --\n"},
		{"parts that match stay", "-- send a --\n{\"say\":[1,2,3]}\n-- expect a --\n# why\n{" + seq + ",\"said\":[1,\"$two\"],\"old\":true}\n",
			"-- send a --\n{\"say\":[1,2,3]}\n-- expect a --\n# why\n{" + seq + ",\"said\":[1,\"$two\",3]}\n"},
		{"names are used", "-- send a --\n{\"say\":1}\n-- expect a --\n{" + seq + ",\"said\":1}\n" +
			"-- do emit --\n{\"id\":\"$id\",\"uri\":\"x:/$id/y\",\"n\":\"$n\",\"$id\":\"$$5\"}\n-- expect b --\n{}\n",
			"-- send a --\n{\"say\":1}\n-- expect a --\n{" + seq + ",\"said\":1}\n" +
				"-- do emit --\n{\"id\":\"$id\",\"uri\":\"x:/$id/y\",\"n\":\"$n\",\"$id\":\"$$5\"}\n" +
				"-- expect b --\n{\"id\":\"$id\",\"uri\":\"x:/$id/y\",\"n\":N,\"$id\":\"$5\",\"args\":[]}\n" +
				"-- expect a --\n{\"id\":\"$id\",\"uri\":\"x:/$id/y\",\"n\":N,\"$id\":\"$5\",\"args\":[]}\n"},
		{"inserted message", "-- send a --\n{\"raw\":\"0\"}\n{\"raw\":\"1\"}\n-- expect a --\n1.0\n",
			"-- send a --\n{\"raw\":\"0\"}\n{\"raw\":\"1\"}\n-- expect a --\n0\n1.0\n"},
		{"end that was not expected", "-- send a --\n{\"bye\":1008,\"why\":\"$$x\"}\n",
			"-- send a --\n{\"bye\":1008,\"why\":\"$$x\"}\n-- closed a 1008 $$x --\n"},
		{"end with another code", "-- send a --\n{\"bye\":1008}\n-- closed a 1009 full --\n",
			"-- send a --\n{\"bye\":1008}\n-- closed a 1008 --\n"},
		{"end that did not come", "-- send a --\n{}\n-- closed a --\n", "-- send a --\n{}\n"},
		{"end that matches", "-- send a --\n{\"bye\":1008}\n-- closed a --\n", "-- send a --\n{\"bye\":1008}\n-- closed a --\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var world *echoWorld
			fixed := func(t *testing.T) World {
				world = newEchoWorld(t).(*echoWorld)
				world.seq = 41
				return world
			}
			tr, err := trial(t, dialled+test.text, true, fixed)
			if err != nil {
				t.Fatal(err)
			}
			got := string(tr.format())
			if want := dialled + strings.ReplaceAll(test.want, ":N,", ":42,"); got != want {
				t.Errorf("rewritten:\n%s\nwant:\n%s", got, want)
			}
			if _, err := trial(t, got, false, fixed); err != nil {
				t.Errorf("the rewritten trace fails: %v", err)
			}
		})
	}
}

// TestUpdateFile checks that Run writes the file under -update, and only then.
func TestUpdateFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.txtar")
	const text = "Prose.\n-- dial a --\n-- send a --\n{\"raw\":\"7\"}\n"
	writeFile(t, path, text)
	before := fmt.Sprint(updating())
	t.Cleanup(func() { flag.Set(updateFlag, before) })
	for _, update := range []bool{true, false} {
		if err := flag.Set(updateFlag, fmt.Sprint(update)); err != nil {
			t.Fatal(err)
		}
		Run(t, dir, newEchoWorld)
		got, err := os.ReadFile(path)
		if want := text + "-- expect a --\n7\n"; err != nil || string(got) != want {
			t.Errorf("update %v: file is\n%s\nwant\n%s", update, got, want)
		}
	}
}

// TestUpdateFlood checks that a flood is an error and no expectation.
func TestUpdateFlood(t *testing.T) {
	_, err := trial(t, dialled+"-- send a --\n{\"flood\":true}\n", true, newEchoWorld)
	wantError(t, err, "client a: more than 10000 messages")
}

// TestUpdateNotJSON checks that what cannot be expected makes the next run fail
// instead of passing.
func TestUpdateNotJSON(t *testing.T) {
	tr, err := trial(t, dialled+"-- send a --\n{\"raw\":\"{x\"}\n", true, newEchoWorld)
	if err != nil {
		t.Fatal(err)
	}
	_, err = trial(t, string(tr.format()), false, newEchoWorld)
	wantError(t, err, "1 differs")
}
