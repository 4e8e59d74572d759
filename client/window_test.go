package client_test

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
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// paned is a session that is subscribed windowed, with a host that is the test.
type paned struct {
	*scripted
	t *testing.T
	c *client.Client
	s *client.Channel
}

// panedBubble runs a test with such a session; hostReceive is what the host takes.
func panedBubble(t *testing.T, hostReceive string, test func(t *testing.T, p *paned, hosts chan *scripted)) {
	t.Helper()
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
		p := &paned{scripted: h, t: t, c: c}
		p.s = p.subscribe(client.Window{Bytes: 4096, MaxFrameBytes: 1024}, hostReceive)
		test(t, p, hosts)
	})
}

const paneReceive = `{"windowBytes":4096,"maximumFrameBytes":1024}`

func (p *paned) subscribe(w client.Window, hostReceive string) *client.Channel {
	p.t.Helper()
	done := make(chan *client.Channel, 1)
	go func() {
		s, err := p.c.Subscribe(p.t.Context(), sessionURI, client.SubscribeOptions{Window: &w})
		if err != nil {
			p.t.Error(err)
		}
		done <- s
	}()
	p.answer(p.t, "subscribe", `{"flowControl":{"clientReceive":`+paneReceive+`,"hostReceive":`+hostReceive+`}}`)
	p.snapshot("first", 10)
	s := <-done
	p.wantCredit()
	return s
}

func (p *paned) snapshot(title string, seq int) {
	p.send(`{"jsonrpc":"2.0","method":"channel/snapshot","params":{"channel":%q,"snapshot":%s}}`, sessionURI, sessionSnapshot(title, seq))
}

func (p *paned) wantCredit() {
	p.t.Helper()
	if m := p.next(p.t); !strings.Contains(m, "channel/credit") {
		p.t.Errorf("received %s, want a credit", m)
	}
}

func (p *paned) credit(consumed int64) {
	p.send(`{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":%q,"consumedBytes":%d}}`, sessionURI, consumed)
}

func (p *paned) title() string {
	synctest.Wait()
	return p.s.State().(*ahp.SessionState).Title
}

func (p *paned) wantTitle(want string) {
	p.t.Helper()
	if got := p.title(); got != want {
		p.t.Errorf("title %q, want %q", got, want)
	}
}

// wantNothing expects that nothing is sent for a while; credits are passed over.
func (p *paned) wantNothing() {
	p.t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	for len(p.messages) > 0 {
		if m := string(<-p.messages); !strings.Contains(m, "channel/credit") {
			p.t.Errorf("received %s, want silence", m)
		}
	}
}

func (p *paned) echo(title string, clientSeq, seq int) {
	p.send(`{"jsonrpc":"2.0","method":"action","params":{"channel":%q,"action":{"type":"session/titleChanged","title":%q},"serverSeq":%d,"origin":{"clientId":"me","clientSeq":%d}}}`, sessionURI, title, seq, clientSeq)
}

func titleAction(title string) ahp.Action { return &ahp.SessionTitleChanged{Title: title} }

func titleDispatch(title string, seq int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":{"type":"session/titleChanged","title":%q}}}`, sessionURI, seq, title)
}

func TestWindowedSubscriptionOnTheWire(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
		p := &paned{scripted: h, t: t, c: c}
		done := make(chan *client.Channel, 1)
		go func() {
			s, _ := c.Subscribe(t.Context(), sessionURI, client.SubscribeOptions{Window: &client.Window{}})
			done <- s
		}()
		h.want(t, `{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-session:/s","flowControl":{"receive":`+noLimits+`}}}`)
		h.send(`{"jsonrpc":"2.0","id":2,"result":{"flowControl":{"clientReceive":%s,"hostReceive":%s}}}`, paneReceive, noLimits)
		p.snapshot("first", 10)
		p.s = <-done
		p.wantTitle("first")
		size := flow.Size(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"channel/snapshot","params":{"channel":%q,"snapshot":%s}}`, sessionURI, sessionSnapshot("first", 10)))
		h.want(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":"ahp-session:/s","consumedBytes":%d}}`, size))
		h.titled("live", 11)
		p.wantTitle("live")
		p.wantCredit()
		_ = p.s.Close()
		h.want(t, `{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-session:/s"}}`)
		h.titled("late", 99) // says nothing to anybody
		h.close()
		h = <-hosts
		h.want(t, `{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"me","lastSeenServerSeq":0,"subscriptions":[]}}`)
	})
}

// AHP core, 12.3: without flowControl in the answer delivery is ordinary.
func TestWindowDeclined(t *testing.T) {
	scriptedBubble(t, func(t *testing.T, c *client.Client, h *scripted, hosts chan *scripted) {
		p := &paned{scripted: h, t: t, c: c}
		done := make(chan *client.Channel, 1)
		go func() {
			s, _ := c.Subscribe(t.Context(), sessionURI, client.SubscribeOptions{Window: &client.Window{}})
			done <- s
		}()
		h.answer(t, "subscribe", `{"snapshot":`+sessionSnapshot("ordinary", 1)+`}`)
		p.s = <-done
		h.titled("live", 2)
		p.wantTitle("live")
		p.wantNothing()
		p.s.Dispatch(titleAction("mine"))
		h.want(t, titleDispatch("mine", 1))
		h.close()
		h = <-hosts
		h.want(t, `{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"me","lastSeenServerSeq":2,"subscriptions":["ahp-session:/s"]}}`)
	})
}

// Own actions are charged to the host's window, and those behind one that waits
// wait with it, also on other channels: their numbers must ascend. Requests pass.
func TestDispatchesWaitForTheWindow(t *testing.T) {
	panedBubble(t, `{"windowBytes":1,"maximumFrameBytes":1024}`, func(t *testing.T, p *paned, _ chan *scripted) {
		other := must(func() (*client.Channel, error) {
			done := make(chan *client.Channel, 1)
			go func() {
				ch, _ := p.c.Subscribe(t.Context(), "ahp-session:/other", client.SubscribeOptions{})
				done <- ch
			}()
			p.answer(t, "subscribe", `{"snapshot":`+strings.Replace(sessionSnapshot("other", 1), sessionURI, "ahp-session:/other", 1)+`}`)
			return <-done, nil
		}())(t)
		p.s.Dispatch(titleAction("one"))
		p.s.Dispatch(titleAction("two"))
		other.Dispatch(titleAction("three"))
		first := titleDispatch("one", 1)
		p.want(t, first)
		p.wantNothing()
		p.wantTitle("two") // both show
		go func() { _ = p.c.Ping(t.Context()) }()
		p.answer(t, "ping", "null")
		size := flow.Size([]byte(first))
		p.credit(size)
		p.want(t, titleDispatch("two", 2))
		p.want(t, strings.Replace(titleDispatch("three", 3), sessionURI, "ahp-session:/other", 1))
		p.s.Dispatch(titleAction("four"))
		p.wantNothing()
		p.credit(2 * size)
		p.want(t, titleDispatch("four", 4))
	})
}

// A large action goes out in frames, each within the limit, and what is put
// together is the action.
func TestLargeDispatchIsFramed(t *testing.T) {
	panedBubble(t, `{"windowBytes":2048,"maximumFrameBytes":1024}`, func(t *testing.T, p *paned, _ chan *scripted) {
		title := strings.Repeat(`a "long" tïtle 😀 `, 100)
		d := p.s.Dispatch(titleAction(title))
		join := flow.NewReassembler(1 << 20)
		var whole []byte
		var sent int64
		for whole == nil {
			m := []byte(p.next(t))
			size := flow.Size(m)
			if size > 1024 {
				t.Fatalf("a frame of %d bytes", size)
			}
			sent += size
			params, _ := jsonrpc.Member(m, "params")
			raw, _ := jsonrpc.Member(params, "data")
			text, _ := jsonrpc.StringBytes(raw)
			final, _ := jsonrpc.Member(params, "final")
			var err error
			if whole, err = join.Add(text, string(final) == "true"); err != nil {
				t.Fatal(err)
			}
			p.credit(sent)
		}
		params, _ := jsonrpc.Member(whole, "params")
		action, _ := jsonrpc.Member(params, "action")
		raw, _ := jsonrpc.Member(action, "title")
		if got, _ := jsonrpc.StringValue(raw); got != title {
			t.Errorf("the host got %q", got)
		}
		p.echoRaw(action, 1, 11)
		if err := d.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		p.wantTitle(title)
	})
}

// echoRaw sends an echo in frames.
func (p *paned) echoRaw(action []byte, clientSeq, seq int) {
	msg := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"action","params":{"channel":%q,"action":%s,"serverSeq":%d,"origin":{"clientId":"me","clientSeq":%d}}}`, sessionURI, action, seq, clientSeq)
	env := flow.Envelope{
		Before: []byte(`{"jsonrpc":"2.0","method":"channel/frame","params":{"channel":"` + sessionURI + `","data":"`),
		After:  []byte(`"}}`), Last: []byte(`","final":true}}`),
	}
	frames, err := flow.NewFragmenter(msg, env, 1024)
	if err != nil {
		p.t.Fatal(err)
	}
	for !frames.Done() {
		frame, _ := frames.AppendNext(nil)
		p.send("%s", frame)
		synctest.Wait() // it is released at once, so the window never fills
		time.Sleep(10 * time.Millisecond)
	}
}

// A breach ends the channel with its name, and nothing else (AHP core, 12.4, 5).
func TestWindowViolations(t *testing.T) {
	frame := func(text string, final string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"channel/frame","params":{"channel":%q,"data":%q%s}}`, sessionURI, text, final)
	}
	for name, test := range map[string]struct {
		message string
		why     error
	}{
		"frame too large":     {`{"jsonrpc":"2.0","method":"x","params":{"channel":"ahp-session:/s","x":"` + strings.Repeat("x", 1024) + `"}}`, flow.FrameTooLarge},
		"empty frame":         {frame("", ""), flow.PieceEmpty},
		"frame without text":  {`{"jsonrpc":"2.0","method":"channel/frame","params":{"channel":"ahp-session:/s"}}`, nil},
		"framed control":      {frame(`{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":"ahp-session:/s"}}`, `,"final":true`), flow.InnerNotData},
		"nested frames":       {frame(`{"jsonrpc":"2.0","method":"channel/frame","params":{"channel":"ahp-session:/s"}}`, `,"final":true`), flow.InnerFrame},
		"foreign inner":       {frame(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-session:/t"}}`, `,"final":true`), flow.InnerForeign},
		"inner is no message": {frame(`{"`, `,"final":true`), flow.InnerNotData},
		"credit beyond sent":  {`{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":"ahp-session:/s","consumedBytes":2}}`, flow.CreditBeyondSent},
		"unreadable envelope": {`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-session:/s"}}`, nil},
		"foreign snapshot":    {`{"jsonrpc":"2.0","method":"channel/snapshot","params":{"channel":"ahp-session:/s","snapshot":{"resource":"ahp-session:/t","state":{},"fromSeq":1}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			panedBubble(t, noLimits, func(t *testing.T, p *paned, _ chan *scripted) {
				p.send("%s", test.message)
				<-p.s.Done()
				wantErr(t, "channel", p.s.Err(), client.ErrChannelGone)
				if test.why != nil {
					wantErr(t, "channel", p.s.Err(), test.why)
				}
				m := p.next(t)
				for strings.Contains(m, "channel/credit") {
					m = p.next(t)
				}
				if m != `{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-session:/s"}}` {
					t.Errorf("received %s", m)
				}
				if state := p.c.Status().State; state != client.Live {
					t.Errorf("the client is %v", state)
				}
			})
		})
	}
}

func TestWindowedChannelResetByTheHost(t *testing.T) {
	panedBubble(t, noLimits, func(t *testing.T, p *paned, _ chan *scripted) {
		p.send(`{"jsonrpc":"2.0","method":"channel/ready","params":{"channel":"ahp-session:/s"}}`)
		p.wantTitle("first")
		p.send(`{"jsonrpc":"2.0","method":"channel/reset","params":{"channel":"ahp-session:/s"}}`)
		<-p.s.Done()
		wantErr(t, "channel", p.s.Err(), client.ErrChannelGone)
		p.wantNothing()
	})
}

// A snapshot in the middle replaces the state: the host had to pass over actions.
func TestWindowedSnapshotInTheMiddle(t *testing.T) {
	panedBubble(t, noLimits, func(t *testing.T, p *paned, _ chan *scripted) {
		p.snapshot("much later", 500)
		p.wantTitle("much later")
		p.titled("old", 499)
		p.wantTitle("much later")
		p.titled("new", 501)
		p.wantTitle("new")
	})
}

// AHP core, 12.6: windowed channels have a number of their own, and recover by
// data under fresh windows.
func TestWindowedReconnect(t *testing.T) {
	const request = `{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"me","lastSeenServerSeq":0,` +
		`"subscriptions":["ahp-session:/s"],"windows":{"items":[{"channel":"ahp-session:/s","lastAppliedServerSeq":11}]}}}`
	resume := func(t *testing.T, p *paned, hosts chan *scripted, windows string) *client.Dispatch {
		t.Helper()
		p.titled("applied", 11)
		p.wantTitle("applied")
		p.wantCredit()
		d := p.s.Dispatch(titleAction("mine"))
		p.want(t, titleDispatch("mine", 1))
		p.close()
		p.scripted = <-hosts
		p.want(t, request)
		p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[],"missing":[]%s}}`, windows)
		return d
	}
	window := func(recovery string) string {
		return `,"windows":{"items":[{"channel":"ahp-session:/s","recovery":"` + recovery + `","flowControl":{"clientReceive":` + paneReceive + `,"hostReceive":` + noLimits + `}}]}`
	}
	t.Run("replay with the echo", func(t *testing.T) {
		panedBubble(t, noLimits, func(t *testing.T, p *paned, hosts chan *scripted) {
			d := resume(t, p, hosts, window("replay"))
			p.titled("theirs", 12)
			p.echo("mine", 1, 13)
			if err := d.Wait(t.Context()); err != nil {
				t.Errorf("action: %v", err)
			}
			p.wantTitle("mine")
			p.wantNothing() // it was not sent again
			p.s.Dispatch(titleAction("next"))
			p.want(t, titleDispatch("next", 2))
		})
	})
	t.Run("replay without the echo", func(t *testing.T) {
		panedBubble(t, noLimits, func(t *testing.T, p *paned, hosts chan *scripted) {
			d := resume(t, p, hosts, window("replay"))
			p.titled("theirs", 12)
			for { // nothing tells the end of the replay: after a while the client asks
				m := p.next(t)
				switch {
				case strings.Contains(m, `"method":"ping"`):
					id, _ := jsonrpc.Member([]byte(m), "id")
					p.send(`{"jsonrpc":"2.0","id":%s,"result":null}`, id)
					continue
				case strings.Contains(m, `"method":"unsubscribe"`):
				case strings.Contains(m, "channel/credit"):
					continue
				default:
					t.Fatalf("received %s", m)
				}
				break
			}
			p.answer(t, "subscribe", `{"flowControl":{"clientReceive":`+paneReceive+`,"hostReceive":`+noLimits+`}}`)
			p.snapshot("theirs", 12)
			wantErr(t, "action", d.Wait(t.Context()), client.ErrUnknownOutcome)
			p.wantTitle("theirs")
		})
	})
	t.Run("snapshot", func(t *testing.T) {
		panedBubble(t, noLimits, func(t *testing.T, p *paned, hosts chan *scripted) {
			d := resume(t, p, hosts, window("snapshot"))
			p.snapshot("theirs", 99)
			wantErr(t, "action", d.Wait(t.Context()), client.ErrUnknownOutcome)
			p.wantTitle("theirs")
		})
	})
	t.Run("gone", func(t *testing.T) {
		panedBubble(t, noLimits, func(t *testing.T, p *paned, hosts chan *scripted) {
			d := resume(t, p, hosts, "") // not named: it may be there all the same
			wantErr(t, "action", d.Wait(t.Context()), client.ErrUnknownOutcome)
			p.fail(t, "subscribe", ahp.CodeNotFound, "it is not")
			<-p.s.Done()
			wantErr(t, "channel", p.s.Err(), client.ErrChannelGone)
		})
	})
	t.Run("refused", func(t *testing.T) { // initialize knows no windows: it is subscribed again
		panedBubble(t, noLimits, func(t *testing.T, p *paned, hosts chan *scripted) {
			p.close()
			p.scripted = <-hosts
			p.fail(t, "reconnect", ahp.CodeNotFound, "who?")
			m := p.next(t)
			if !strings.Contains(m, `"initialize"`) || strings.Contains(m, "initialSubscriptions") {
				t.Errorf("received %s", m)
			}
			p.send(`{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"1.1.0","serverSeq":0,"snapshots":[]}}`)
			p.answer(t, "subscribe", `{"flowControl":{"clientReceive":`+paneReceive+`,"hostReceive":`+noLimits+`}}`)
			p.snapshot("again", 1)
			p.wantTitle("again")
			p.titled("live", 2)
			p.wantTitle("live")
		})
	})
}

// A windowed chat of the real host shows what an ordinary one shows, over lost
// connections too, with windows of every size.
func TestWindowedChatsConverge(t *testing.T) {
	for _, window := range []client.Window{{}, {Bytes: 1, MaxFrameBytes: 1024}, {Bytes: 5000, MaxFrameBytes: 2000}} {
		t.Run(fmt.Sprint("window ", window.Bytes), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.agent.turn = func(ctx context.Context, h agent.Host, p agent.Prompt) agent.Outcome {
					for range 40 {
						_ = h.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: strings.Repeat("word ", 20)})
					}
					return agent.Outcome{Result: agent.Completed}
				}
				writer := w.dial("writer", client.Options{})
				_, chat := w.newSession(writer)
				w.link("reader").Set(simnet.Profile{Latency: 5 * time.Millisecond, MaxPieceBytes: 700})
				reader := w.dial("reader", client.Options{})
				seen, err := reader.ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Window: &window})
				if err != nil {
					t.Fatal(err)
				}
				for n := range 6 {
					turn, err := chat.Send(t.Context(), fmt.Sprint("go ", n))
					if err != nil {
						t.Fatal(err)
					}
					d := seen.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage(fmt.Sprint("draft ", n))})
					if n%2 == 1 {
						time.Sleep(7 * time.Millisecond)
						w.link("reader").Cut()
					}
					if _, err := turn.Wait(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := d.Wait(t.Context()); err != nil && !errors.Is(err, client.ErrUnknownOutcome) {
						t.Errorf("draft %d: %v", n, err)
					}
					waitState(t, reader, client.Live)
				}
				time.Sleep(5 * time.Minute)
				wantSame(t, "windowed chat", seen.State(), w.chatState(chat.URI()))
				if n := reader.Stats().Pending; n != 0 {
					t.Errorf("%d actions pending", n)
				}
			})
		})
	}
}

// A chat of 40 MB opens over a line of 1 MB/s, and everything else on the
// connection goes on meanwhile.
func TestALargeChatOpensWindowed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		size := scale.Count(40 << 20)
		w.agent.turn = func(ctx context.Context, h agent.Host, p agent.Prompt) agent.Outcome {
			for sent := 0; sent < size; sent += 64 << 10 {
				_ = h.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: strings.Repeat("0123456789abcdef", 4<<10)})
			}
			return agent.Outcome{Result: agent.Completed}
		}
		writer := w.dial("writer", client.Options{})
		session, chat := w.newSession(writer)
		if _, err := must(chat.Send(t.Context(), "go"))(t).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		const speed = 1 << 20
		w.link("reader").Set(simnet.Profile{BytesPerSecond: speed})
		reader := w.dial("reader", client.Options{})
		other := must(reader.Session(t.Context(), session.URI()))(t)
		opened := make(chan *client.Chat, 1)
		go func() {
			c, err := reader.ChatView(t.Context(), chat.URI(), client.SubscribeOptions{Window: &client.Window{}})
			if err != nil {
				t.Error(err)
			}
			opened <- c
		}()
		const bound = (384 + 64) << 10 * time.Second / speed // a batch and the buffer of the line
		for n := 0; ; n++ {
			select {
			case c := <-opened:
				if n < 2 {
					t.Error("it opened before anything else could be tried")
				}
				wantSame(t, "chat", c.State(), w.chatState(chat.URI()))
				return
			case <-time.After(time.Second):
			}
			start := time.Now()
			title := fmt.Sprint("title ", n)
			session.SetTitle(title)
			if err := other.Wait(t.Context(), func(s any) bool { return s.(*ahp.SessionState).Title == title }); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > bound {
				t.Errorf("a title took %v, bound %v", took, bound)
			}
		}
	})
}
