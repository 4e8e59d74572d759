package cases

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// older connects a client of an older version and initializes.
func (w *world) older(name, version string) *raw {
	w.t.Helper()
	p := w.raw(name)
	p.say(strings.Replace(initialize(name, ahp.RootURI), "1.1.0", version, 1))
	if answer := p.hear(); !strings.Contains(answer, fmt.Sprintf(`"protocolVersion":%q`, version)) {
		w.t.Fatalf("initialize: %s", answer)
	}
	return p
}

// until reads until a message contains the text.
func (p *raw) until(text string) string {
	p.t.Helper()
	for {
		if m := p.hear(); strings.Contains(m, text) {
			return m
		}
	}
}

// A client of 0.6 creates a session in its words, hears of it in its words, runs a
// turn that fails, and finds the failure where 0.6 has it, live and in a snapshot.
func TestAClientOf06RunsATurn(t *testing.T) {
	fails := func(context.Context, *actor, agent.Prompt) agent.Outcome {
		return agent.Outcome{Result: agent.Failed, Err: &ahp.ErrorInfo{ErrorType: "broken", Message: "it broke"}}
	}
	bubble(t, fails, func(t *testing.T, w *world) {
		old, neighbour := w.older("old", "0.6.0"), w.older("neighbour", "0.9.0")
		old.say(`{"jsonrpc":"2.0","id":2,"method":"createSession","params":{"channel":"ahp-session:/s","workingDirectory":"file:///work"}}`)
		added := old.until("root/sessionAdded")
		if !strings.Contains(added, `"workingDirectory":"file:///work"`) || strings.Contains(added, "workingDirectories") {
			t.Errorf("0.6 hears of the session as %s", added)
		}
		if added := neighbour.until("root/sessionAdded"); !strings.Contains(added, `"workingDirectories":["file:///work"]`) {
			t.Errorf("0.9 hears of the session as %s", added)
		}
		old.until(`"id":2`)
		old.say(`{"jsonrpc":"2.0","id":3,"method":"listSessions","params":{"channel":"ahp-root://"}}`)
		if list := old.until(`"id":3`); !strings.Contains(list, `"workingDirectory":"file:///work"`) {
			t.Errorf("0.6 lists %s", list)
		}

		time.Sleep(time.Second) // until it is ready
		old.say(`{"jsonrpc":"2.0","id":4,"method":"subscribe","params":{"channel":"ahp-session:/s"}}`)
		chat := chatOf(t, old.until(`"id":4`))
		old.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"subscribe","params":{"channel":%q}}`, chat))
		old.until(`"id":5`)
		old.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":1,"action":{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"go","origin":{"kind":"user"}}}}}`, chat))
		failed := old.until("chat/error")
		if !strings.Contains(failed, `"error":{"errorType":"broken","message":"it broke"`) || strings.Contains(failed, `"part"`) {
			t.Errorf("0.6 hears of the failure as %s", failed)
		}
		old.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":6,"method":"subscribe","params":{"channel":%q}}`, chat))
		if snapshot := old.until(`"id":6`); !strings.Contains(snapshot, `"error":{"errorType":"broken"`) || strings.Contains(snapshot, `"kind":"error"`) {
			t.Errorf("0.6 is shown the turn as %s", snapshot)
		}

		// What it dispatches of a newer version's is answered all the same.
		old.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":2,"action":{"type":"chat/isReadChanged","isRead":true}}}`, chat))
		old.until(`"clientSeq":2`)
		old.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":3,"action":{"type":"chat/turnCancelled","turnId":"none","duration":0}}}`, chat))
		if echo := old.until(`"clientSeq":3`); !strings.Contains(echo, "rejectionReason") {
			t.Errorf("a wrong action is answered with %s", echo)
		}
	})
}

// chatOf finds the default chat in the answer to a subscribe.
func chatOf(t *testing.T, answer string) ahp.URI {
	t.Helper()
	chat, ok := jsonrpc.StringValue(member(t, answer, "result", "snapshot", "state", "defaultChat"))
	if !ok {
		t.Fatalf("no chat in %s", answer)
	}
	return chat
}

// A client of 0.6 that was away is told in its words what it missed, and nothing
// it does not know; the numbers go on.
func TestAClientOf06Reconnects(t *testing.T) {
	bubble(t, talker(func(string) []string { return []string{"yes"} }), func(t *testing.T, w *world) {
		modern := w.client("modern")
		chat := w.chat(modern)
		old := w.older("old", "0.6.0")
		subscribe := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":%q}}`, chat.URI())
		old.say(subscribe)
		from := member(t, old.until(`"id":2`), "result", "snapshot", "fromSeq")
		w.link("old").Cut()
		w.turn(chat, "hello")
		must(0, chat.Dispatch(&ahp.ChatIsArchivedChanged{IsArchived: true}).Wait(t.Context()))(t)
		time.Sleep(time.Second)

		again := w.raw("old")
		again.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"clientId":"old","lastSeenServerSeq":%s,"subscriptions":[%q]}}`, from, chat.URI()))
		answer := again.hear()
		for _, want := range []string{`"type":"replay"`, `"chat/turnStarted"`, `"chat/turnComplete"`} {
			if !strings.Contains(answer, want) {
				t.Errorf("the replay lacks %s: %s", want, answer)
			}
		}
		if strings.Contains(answer, "isArchivedChanged") {
			t.Errorf("the replay has what came with 0.9: %s", answer)
		}
		w.turn(chat, "more")
		again.until(`"chat/turnComplete"`)
	})
}

// Versions are negotiated as each generation does it, and what is not served is
// refused with those that are.
func TestVersionsAreNegotiated(t *testing.T) {
	bubble(t, talker(kilobytes), func(t *testing.T, w *world) {
		for i, c := range []struct{ offer, want string }{
			{`"0.6.0","0.5.2","0.5.1"`, "0.6.0"},
			{`"0.5.1"`, "0.5.1"},
			{`"0.9.0","1.0.0"`, "1.0.0"},
			{`"0.7.0","0.6.0"`, "0.6.0"},
			{`"0.8.0"`, ""},
			{`"0.4.0","2.0.0"`, ""},
		} {
			p := w.raw(fmt.Sprint("client-", i))
			p.say(strings.Replace(initialize("c", ahp.RootURI), `"1.1.0"`, c.offer, 1))
			answer := p.hear()
			if want := fmt.Sprintf(`"protocolVersion":%q`, c.want); c.want != "" && !strings.Contains(answer, want) {
				t.Errorf("offered %s: %s", c.offer, answer)
			}
			if c.want == "" && !strings.Contains(answer, `"supportedVersions":["^1.0.0","^0.9.0","^0.6.0","^0.5.1"]`) {
				t.Errorf("offered %s: %s", c.offer, answer)
			}
		}
	})
}
