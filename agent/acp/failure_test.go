package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// Cancel answers what is open, is asked of the agent once, and what the agent
// still says is swallowed until its prompt is answered (agents.md, 4.6, 1).
func TestCancelDrains(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(r *turnRun)
	}{
		{"cancelled", func(r *turnRun) { r.w.agent.reply(r.prompt, `{"stopReason":"cancelled"}`) }},
		{"end of turn", func(r *turnRun) { r.w.agent.reply(r.prompt, `{"stopReason":"end_turn"}`) }},
		{"an error", func(r *turnRun) { r.w.agent.refuse(r.prompt, -32603, "aborted") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with(t, func(w *world) {
				r := w.turn("t1")
				w.agent.permit(0, "c")
				w.host.take()
				w.session.Cancel("t0") // another turn
				w.session.Cancel("t1")
				w.session.Cancel("t1")
				heard := map[string]int{}
				for range 2 {
					m := w.agent.next()
					heard[m.Method+string(m.Result)]++
				}
				if heard["session/cancel"] != 1 || heard[`{"outcome":{"outcome":"cancelled"}}`] != 1 {
					t.Errorf("the agent heard %v", heard)
				}
				w.agent.text("late")
				w.agent.tool("tool_call_update", `"toolCallId":"c","status":"completed"`)
				w.agent.update(`{"sessionUpdate":"session_info_update","title":"T"}`)
				w.told("unasked 1.c", "title T")
				tt.end(r)
				w.result(<-r.outcome, agent.Cancelled, "")
				r = w.turn("t2") // the session lives on
				w.agent.text("next")
				w.told("text next")
				w.result(r.stop("end_turn"), agent.Completed, "")
			})
		})
	}
}

// A turn that is cancelled before its prompt was sent is not prompted.
func TestCancelBeforeThePrompt(t *testing.T) {
	const models = `{"sessionId":"s1","models":{"currentModelId":"a","availableModels":[{"modelId":"a","name":"A"},{"modelId":"b","name":"B"}]}}`
	withOptions(t, Options{}, plainInit, models, func(w *world) {
		m := ahp.UserMessage("hi")
		m.Model = &ahp.ModelSelection{ID: "b"}
		r := w.start("t1", m)
		set := w.agent.expect("session/set_model")
		w.session.Cancel("t1")
		if o := <-r.outcome; o.Result != agent.Cancelled {
			t.Errorf("outcome %+v", o)
		}
		w.agent.expect("$/cancel_request")
		w.agent.reply(set, `{}`)
		w.turn("t2").stop("end_turn") // the first prompt the agent hears
	})
}

// The agent ignores a cancel: whoever waits gives up on it, and its end ends the
// prompt (agents.md, 4.6, 1).
func TestCancelIgnored(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.session.Cancel("t1")
		w.agent.expect("session/cancel")
		begun := time.Now()
		_ = w.session.Close()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("an agent that ignored a cancel was given %v more", took)
		}
		<-r.outcome
	})
}

func TestGivenUp(t *testing.T) {
	with(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		outcome := make(chan agent.Outcome, 1)
		go func() { outcome <- w.session.Prompt(ctx, agent.Prompt{TurnID: "t1", Message: ahp.UserMessage("x")}) }()
		w.agent.expect("session/prompt")
		cancel()
		if o := <-outcome; o.Result != agent.Failed {
			t.Errorf("outcome %+v", o)
		}
		<-w.session.Done()
	})
}

// The rows about an agent that dies in a turn (agents.md, 4.7): whatever it was
// doing, the turn fails once, with what it said last, and without secrets.
func TestAgentDiesInATurn(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(a *fakeAgent)
		told []string
	}{
		{"before it says anything", func(*fakeAgent) {}, nil},
		{"in its answer", func(a *fakeAgent) { a.text("I am") }, []string{"text I am"}},
		{"in a tool call", func(a *fakeAgent) { a.tool("tool_call", `"toolCallId":"c","title":"T","status":"in_progress"`) },
			[]string{`start 1.c tool "T"`, `run 1.c "T"`, "end 1.c failed(the turn ended before the tool did) "}},
		{"in a permission", func(a *fakeAgent) { a.permit(0, "c") }, []string{`start 1.c tool "Write"`, "ask 1.c", "unasked 1.c"}},
		{"with half a line", func(a *fakeAgent) { go a.say(`{"jsonrpc":"2.0","method":"session/up`) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with(t, func(w *world) {
				r := w.turn("t1")
				tt.play(w.agent)
				synctest.Wait()
				w.agent.die("exit status 3", "fatal: api_key=sk-12345678901234567890 is wrong")
				w.result(<-r.outcome, agent.Failed, "agentExited: Fake ended in the middle of the turn (exit status 3): fatal: api_key=… is wrong")
				w.told(tt.told...)
				<-w.session.Done()
				o := <-w.start("t2", ahp.UserMessage("x")).outcome
				w.result(o, agent.Failed, "agentExited")
			})
		})
	}
}

func TestAgentDiesWhileIdle(t *testing.T) {
	with(t, func(w *world) {
		w.agent.die("exit status 1", "")
		<-w.session.Done()
		if w.session.Err() == nil {
			t.Error("no reason is given")
		}
		w.told()
	})
}

// Rows about the stream itself (agents.md, 4.7): noise is skipped, at a rate that
// is no accident it ends the agent; so does a line beyond the limit.
func TestNoiseIsSkipped(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		for _, line := range []string{"Loading…", "{", `{"a":1}`, "[1,2]", "null", "\xff\xfe", "", "   ", `{"jsonrpc":"2.0","id":99,"result":{}}`} {
			w.agent.say(line)
		}
		w.agent.text("still here")
		w.told("text still here")
		w.result(r.stop("end_turn"), agent.Completed, "")
		if s := w.provider.Stats(); s.Noise != 6 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestNoiseEndsAnAgent(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		for range maxNoise {
			w.agent.say("noise")
		}
		time.Sleep(time.Minute + time.Second) // of virtual time
		w.agent.text("ok")
		w.host.take()
		for range maxNoise + 1 {
			w.agent.say("noise")
		}
		w.result(<-r.outcome, agent.Failed, "agentExited: Fake ended in the middle of the turn: the agent wrote more than 100 lines a minute")
	})
}

func TestLineBeyondTheLimit(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		go func() {
			chunk := strings.Repeat("x", 1<<20)
			for range 64 {
				if _, err := w.agent.out.Write([]byte(chunk)); err != nil {
					return
				}
			}
		}()
		w.result(<-r.outcome, agent.Failed, "a line of more than 32 MiB")
	})
}

// A chunk of 20 MiB is within the limit, and comes in pieces.
func TestHugeChunk(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.text(strings.Repeat("äbc", 5<<20))
		w.result(r.stop("end_turn"), agent.Completed, "")
		size := 0
		for _, e := range w.host.raw {
			text := e.(agent.Text).Text
			if size += len(text); len(text) > maxPieceBytes {
				t.Fatalf("a piece of %d bytes", len(text))
			}
		}
		if size != 20<<20 {
			t.Errorf("%d bytes arrived", size)
		}
	})
}

// A host that is slow slows the agent down; nothing is dropped (agents.md, 4.7,
// burst).
func TestBurstWaits(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.host.block = make(chan struct{})
		const n = 5000
		said := make(chan int, 1)
		go func() {
			for i := range n {
				w.agent.text(fmt.Sprint(i))
			}
			said <- n
		}()
		synctest.Wait()
		select {
		case <-said:
			t.Error("the agent was not held up")
		default:
		}
		for range n {
			w.host.block <- struct{}{}
		}
		<-said
		w.result(r.stop("end_turn"), agent.Completed, "")
		got := w.host.take()
		if len(got) != n || got[n-1] != fmt.Sprintf("text %d", n-1) {
			t.Errorf("%d pieces arrived, the last %q", len(got), got[len(got)-1])
		}
	})
}

// Silence is told and never punished; nobody waits for an agent that waits
// (agents.md, 4.7, stall).
func TestSilenceIsTold(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		time.Sleep(StallTime - time.Second)
		w.told()
		time.Sleep(2 * time.Second)
		w.told("activity no response for 60 s")
		time.Sleep(10 * StallTime)
		w.told()
		w.agent.text("sorry")
		w.told("activity ", "text sorry")
		w.agent.permit(0, "c")
		time.Sleep(3 * StallTime)
		w.told(`start 1.c tool "Write"`, "ask 1.c")
		w.host.decisions <- agent.Decision{}
		w.agent.answer(0)
		r.stop("end_turn")
		if s := w.provider.Stats(); s.Stalled != 1 {
			t.Errorf("stats %+v", s)
		}
	})
}

// Updates at the wrong time or place are dropped and counted; what belongs to the
// session applies (agents.md, 4.7).
func TestUpdatesOutsideOfATurn(t *testing.T) {
	with(t, func(w *world) {
		w.agent.text("nobody asked")
		w.agent.tool("tool_call", `"toolCallId":"c","title":"T"`)
		w.agent.update(`{"sessionUpdate":"usage_update","used":1,"size":2}`)
		w.agent.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"session_info_update","title":"X"}}}`)
		w.agent.update(`{"sessionUpdate":"session_info_update","title":"T"}`)
		w.agent.say(`{"jsonrpc":"2.0","method":"_vendor/thing","params":{}}`)
		w.told(`meta acp.usage {"used":1,"size":2}`, "title T")
		if s := w.provider.Stats(); s.Outside != 2 || s.Foreign != 1 {
			t.Errorf("stats %+v", s)
		}
	})
}

// What comes behind the answer to a prompt is none of the turn's, however close it
// comes.
func TestUpdateBehindTheAnswer(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.agent.text("in time")
		w.agent.say(string(jsonrpc.AppendResult(nil, r.prompt.ID, []byte(`{"stopReason":"end_turn"}`))) + "\n" +
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"late"}}}}`)
		<-r.outcome
		w.told("text in time")
	})
}

// A second prompt is never sent while one runs (agents.md, 4.7).
func TestOnePromptAtATime(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		w.result(<-w.start("t2", ahp.UserMessage("x")).outcome, agent.Failed, "turnInProgress")
		r.stop("end_turn")
	})
}

// An agent that does not read is ended when too much waits for it.
func TestOutboxIsBounded(t *testing.T) {
	o := newOutbox()
	if err := o.push(make([]byte, maxOutboxBytes+1)); err != nil {
		t.Errorf("a single message: %v", err)
	}
	if err := o.push([]byte("x")); !errors.Is(err, errOutboxFull) {
		t.Errorf("got %v", err)
	}
	o.close()
	if err := o.push([]byte("x")); !errors.Is(err, errEnded) {
		t.Errorf("got %v", err)
	}
}

// Output of a running call is published at most every publishInterval, the last
// of it always (the agent repeats all of it with every change).
func TestOutputIsPublishedNowAndThen(t *testing.T) {
	with(t, func(w *world) {
		r := w.turn("t1")
		say := func(text string) {
			w.agent.tool("tool_call_update", `"toolCallId":"c","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"`+text+`"}}]`)
		}
		for i := range 50 {
			say(fmt.Sprint(i))
			time.Sleep(publishInterval / 10)
		}
		time.Sleep(2 * publishInterval)
		got := w.host.take()
		if n := len(got) - 2; n < 4 || n > 8 {
			t.Errorf("published %d times", n)
		}
		if last := got[len(got)-1]; last != "show 1.c 49" {
			t.Errorf("at last %q", last)
		}
		r.stop("end_turn")
	})
}
