package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/reconcile"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
)

// openChannel gives the client a channel as if it had subscribed to it.
func openChannel(c *Client, uri ahp.URI, state any) *Channel {
	ch := newChannel(c, uri, SubscribeOptions{})
	ch.machine = reconcile.New(c.opts.ClientID, state, 1)
	ch.phase, ch.refs = open, 1
	c.channels[uri] = ch
	return &Channel{ch: ch, closed: make(chan struct{})}
}

// written marks every action of the channel as handed to a transport.
func written(h *Channel) {
	for _, d := range h.ch.dispatches {
		d.writeLocked()
	}
}

var reconnectSeeds = []string{
	`{"type":"replay","actions":[],"missing":[]}`,
	`{"type":"replay","actions":[{"channel":"ahp-session:/s","action":{"type":"session/titleChanged","title":"x"},"serverSeq":2,"origin":{"clientId":"me","clientSeq":1}}],"missing":["ahp-chat:/c"]}`,
	`{"type":"replay","actions":[{"channel":"ahp-session:/s","action":{"type":"session/titleChanged","title":1},"serverSeq":2,"origin":{"clientId":"me","clientSeq":3}}]}`,
	`{"type":"replay","actions":[{"channel":"ahp-chat:/c","action":{"type":"chat/draftChanged"},"serverSeq":9,"origin":{"clientId":"me","clientSeq":2},"rejectionReason":"no"}]}`,
	`{"type":"replay","actions":[{"channel":"ahp-session:/s","action":{"type":"session/chatRemoved","chat":"ahp-chat:/c"},"serverSeq":2}]}`,
	`{"type":"snapshot","snapshots":[{"resource":"ahp-session:/s","state":{"title":"x"},"fromSeq":18446744073709551615}]}`,
	`{"type":"snapshot","snapshots":[{"resource":"ahp-chat:/c","state":{"turns":null,"activeTurn":{"id":"t"}},"fromSeq":0},{"resource":"ahp-chat:/c","state":7,"fromSeq":0}]}`,
	`{"type":"snapshot"}`, `{"type":"missing"}`, `{"channels":[]}`, `{}`, `null`, `[]`, `{"type":`,
}

// FuzzReconnectResponse answers a reconnect with anything. Afterwards every
// action that had been sent has ended, at the latest with the handshake that
// follows an answer that could not be read, and every channel is what its machine
// says.
func FuzzReconnectResponse(f *testing.F) {
	for _, seed := range reconnectSeeds {
		f.Add([]byte(seed))
	}
	for _, state := range fixtureStates(f) {
		f.Add(fmt.Appendf(nil, `{"type":"snapshot","snapshots":[{"resource":"ahp-chat:/c","state":%s,"fromSeq":3},{"resource":"ahp-session:/s","state":%s,"fromSeq":3}]}`, state, state))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		c := newClient(t.Context(), nil, Options{ClientID: "me"})
		session := openChannel(c, "ahp-session:/s", reducer.New(ahp.KindSession))
		chat := openChannel(c, "ahp-chat:/c", reducer.New(ahp.KindChat))
		watch := openChannel(c, "ahp-resource-watch:/w", reducer.New(ahp.KindResourceWatch))
		actions := []*Dispatch{
			session.Dispatch(&ahp.SessionTitleChanged{Title: "mine"}),
			chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage("mine")}),
			watch.Dispatch(&ahp.UnknownAction{Type: "resourceWatch/x", Raw: jsontext.Value(`{"type":"resourceWatch/x"}`)}),
		}
		for _, h := range []*Channel{session, chat, watch} {
			written(h)
		}
		unsent := session.Dispatch(&ahp.SessionIsReadChanged{IsRead: true})

		var r reconnectResult
		err := ahp.Unmarshal(answer, &r)
		if err == nil {
			err = c.resume(&r)
		}
		if err != nil {
			c.begin(&ahp.InitializeResult{})
		}
		for n, d := range actions {
			select {
			case <-d.Done():
			default:
				t.Errorf("sent action %d has not ended", n)
			}
		}
		for _, h := range []*Channel{session, chat, watch} {
			checkChannel(t, h)
		}
		if over := session.Err() != nil; over != (unsent.Err() != nil) {
			t.Errorf("session over: %v, unsent action: %v", over, unsent.Err())
		}
	})
}

// checkChannel compares what a channel shows with a fold from its beginning.
func checkChannel(t *testing.T, h *Channel) {
	t.Helper()
	want := h.Confirmed()
	for _, a := range h.Unconfirmed() {
		want = reducer.Apply(want, a)
	}
	got, err := ahp.Marshal(h.State())
	if err != nil {
		t.Fatal(err)
	}
	fold, err := ahp.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(fold) {
		t.Errorf("%s shows %s, want %s", h.URI(), got, fold)
	}
	if n := len(h.Unconfirmed()); n != len(h.ch.dispatches) {
		t.Errorf("%s: %d unconfirmed, %d dispatches", h.URI(), n, len(h.ch.dispatches))
	}
}

// fixtureStates are the states in testdata/states; without any the target fails.
func fixtureStates(f *testing.F) []string {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "states", "*.json"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seed in testdata/states: %v", err)
	}
	var states []string
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		states = append(states, strings.TrimSpace(string(raw)))
	}
	return states
}

// BenchmarkReceive is the client's share of a delta: an envelope that was read
// from the wire, decoded, reduced and made known to nobody or to a watcher.
func BenchmarkReceive(b *testing.B) {
	for _, pending := range []int{0, 10} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
			c := newClient(b.Context(), nil, Options{ClientID: "me"})
			h := openChannel(c, "ahp-chat:/c", streamingChat())
			for n := range pending {
				h.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(fmt.Sprint(n))})
			}
			params := make([]jsontext.Value, 1000)
			b.ReportAllocs()
			seq := 1
			for i := 0; b.Loop(); i++ {
				if i%len(params) == 0 {
					b.StopTimer()
					for n := range params {
						seq++
						params[n] = fmt.Appendf(nil, `{"channel":"ahp-chat:/c","action":{"type":"chat/delta","turnId":"t","partId":"p","content":"twelve bytes"},"serverSeq":%d}`, seq)
					}
					b.StartTimer()
				}
				in, err := readEnvelope(params[i%len(params)])
				if err != nil {
					b.Fatal(err)
				}
				c.mu.Lock()
				c.receiveLocked(in, false)
				c.mu.Unlock()
			}
		})
	}
}

// streamingChat is a chat of a thousand turns, one of which streams into 2 MB.
func streamingChat() *ahp.ChatState {
	s := reducer.New(ahp.KindChat).(*ahp.ChatState)
	turns := make([]*ahp.Turn, 1000)
	for i := range turns {
		turns[i] = &ahp.Turn{ID: fmt.Sprint(i), Message: ahp.UserMessage("hello"), State: ahp.TurnComplete}
	}
	s.Turns = ahp.NewList(turns...)
	part := ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p", Content: ahp.NewText(strings.Repeat("x", 2<<20))}}
	s.ActiveTurn = &ahp.ActiveTurn{ID: "t", StartedAt: "2026-10-01T00:00:00.000Z", ResponseParts: ahp.NewList(part)}
	return s
}
