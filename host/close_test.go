package host

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/transport"
)

// deadConn is a carrier that fails as told.
type deadConn struct {
	readErr, writeErr error
	messages          [][]byte // read before the failure
	code              chan transport.Code
	reason            string
}

func (d *deadConn) Read() ([]byte, error) {
	if len(d.messages) > 0 {
		m := d.messages[0]
		d.messages = d.messages[1:]
		return m, nil
	}
	if d.readErr == nil {
		code := <-d.code
		d.code <- code
		return nil, errors.New("closed")
	}
	return nil, d.readErr
}

func (d *deadConn) Write([][]byte) error { return d.writeErr }

func (d *deadConn) Close(code transport.Code, reason string) error {
	select {
	case d.code <- code:
		d.reason = reason
	default:
	}
	return nil
}

func (d *deadConn) RemoteAddr() string   { return "nowhere" }
func (d *deadConn) Kind() transport.Kind { return transport.KindMemory }

// TestCauses: what a carrier reports becomes a cause, a close code, and the
// result of Serve with the carrier's own error in its chain.
func TestCauses(t *testing.T) {
	ping := [][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"ahp-root://"}}`)}
	tests := []struct {
		err   error
		write bool
		cause CloseCause
		code  transport.Code
	}{
		{transport.ErrTooLarge, false, CloseTooLarge, transport.CodeTooBig},
		{transport.ErrInvalidUTF8, false, CloseInvalidText, transport.CodeInvalidUTF8},
		{transport.ErrBinary, false, CloseBinary, transport.CodeUnsupported},
		{transport.ErrProtocol, false, CloseProtocol, transport.CodeProtocol},
		{transport.ErrPeerSilent, false, CloseSilent, transport.CodeNormal},
		{transport.ErrWriteTimeout, true, CloseSilent, transport.CodeNormal},
		{&transport.CloseError{Code: transport.CodeGoingAway, Remote: true}, false, ClosePeer, transport.CodeNormal},
		{errors.New("broken pipe"), true, ClosePeer, transport.CodeNormal},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.cause, "/", tt.err), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{})
				d := &deadConn{code: make(chan transport.Code, 1)}
				if tt.write {
					d.writeErr, d.messages = fmt.Errorf("write: %w", tt.err), ping
				} else {
					d.readErr = fmt.Errorf("read: %w", tt.err)
				}
				err := w.h.Serve(t.Context(), d, Local)
				if !errors.Is(err, tt.cause) || !errors.Is(err, tt.err) {
					t.Errorf("serve: %v, want %v with %v in its chain", err, tt.cause, tt.err)
				}
				if code := <-d.code; code != tt.code || d.reason != string(tt.cause) {
					t.Errorf("closed with %d %q, want %d %q", code, d.reason, tt.code, tt.cause)
				}
			})
		})
	}
}

// TestServeContext: when the context of Serve ends, so does the connection.
func TestServeContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		d := &deadConn{code: make(chan transport.Code, 1)}
		ended := make(chan error, 1)
		w.serving.Go(func() { ended <- w.h.Serve(ctx, d, Local) })
		synctest.Wait()
		cause := errors.New("the door closes")
		cancel(cause)
		if err := <-ended; !errors.Is(err, cause) {
			t.Errorf("serve: %v, want %v", err, cause)
		}
		if code := <-d.code; code != transport.CodeGoingAway {
			t.Errorf("closed with %d", code)
		}
		if _, idle := w.h.Idle(); !idle {
			t.Error("the host is not idle")
		}
	})
}

// TestSlowReader: who does not read is closed with a cause of its own; nobody
// else misses anything, and the host waits for nothing.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Limits: Limits{OutboxMessages: 500}})
		session, chat := "ahp-session:/s", "ahp-chat:/c"
		if err := errors.Join(w.h.Create(session, labSession("x"), ""), w.h.Create(chat, labChat(chat), session)); err != nil {
			t.Fatal(err)
		}
		w.h.Apply(chat, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: Now(), Message: &ahp.Message{Text: "go"}})
		w.h.Apply(chat, &ahp.ChatResponsePart{TurnID: "t", Part: ahp.ResponsePart{Part: &ahp.MarkdownPart{ID: "p"}}})
		slow, err := w.Dial("a")
		if err != nil {
			t.Fatal(err)
		}
		fast := w.peer("b")
		fast.initialize("b", chat)
		if err := slow.Write([][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":"a","initialSubscriptions":["ahp-chat:/c"]}}`)}); err != nil {
			t.Fatal(err)
		}
		fast.take()
		const deltas = 2000
		began := time.Now()
		for i := range deltas {
			w.h.Apply(chat, &ahp.ChatDelta{TurnID: "t", PartID: "p", Content: "x"})
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		if got := len(fast.take()); got != deltas {
			t.Errorf("the fast reader got %d of %d", got, deltas)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("it took %v: somebody waited", d)
		}
		var end *transport.CloseError
		for err = nil; err == nil; {
			_, err = slow.Read()
		}
		if !errors.As(err, &end) || end.Code != transport.CodeTryAgain || end.Reason != string(CloseOverflow) {
			t.Errorf("the slow reader was closed with %v", err)
		}
	})
}

// TestShutdownPhases shuts the host down in every phase of a connection. The
// bubble fails if a goroutine is left behind.
func TestShutdownPhases(t *testing.T) {
	turn := `{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-chat:/c","clientSeq":1,"action":{"type":"chat/turnStarted","turnId":"t","startedAt":"x","message":{"text":"go"}}}}`
	phases := []struct {
		name string
		do   func(w *world)
		max  time.Duration
	}{
		{"no connection", func(*world) {}, 0},
		{"before the handshake", func(w *world) { w.peer("a") }, 0},
		{"idle", func(w *world) { w.peer("a").initialize("a", "ahp-chat:/c") }, 0},
		{"request under way", func(w *world) {
			p := w.peer("a")
			p.initialize("a")
			p.send(`{"jsonrpc":"2.0","id":2,"method":"x-sleep","params":{"channel":"ahp-root://"}}`)
		}, 0},
		{"effect running", func(w *world) {
			w.lab.slow = make(chan struct{})
			p := w.peer("a")
			p.initialize("a")
			p.send(turn)
		}, 0},
		{"store held", func(w *world) {
			p := w.peer("a")
			p.initialize("a", "ahp-chat:/c")
			synctest.Wait()
			w.store.hold(nil)
			p.send(turn)
			time.AfterFunc(7*time.Second, w.store.release)
		}, 7 * time.Second},
		{"store refuses", func(w *world) {
			p := w.peer("a")
			p.initialize("a", "ahp-chat:/c")
			synctest.Wait()
			w.store.hold(errors.New("disk full"))
			p.send(turn)
		}, 5 * time.Second},
		{"peer does not read", func(w *world) {
			conn, err := w.Dial("a")
			if err != nil {
				w.t.Fatal(err)
			}
			ping := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"ahp-root://"}}`)
			for range 400 {
				if err := conn.Write([][]byte{ping}); err != nil {
					w.t.Fatal(err)
				}
			}
		}, 5 * time.Second},
		{"closing for its version", func(w *world) {
			w.peer("a").send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["9.0.0"],"clientId":"a"}}`)
		}, 0},
	}
	for _, phase := range phases {
		for _, quiet := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/quiet=%v", phase.name, quiet), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, Options{Store: newGate()})
					if err := errors.Join(w.h.Create("ahp-session:/s", labSession("x"), ""), w.h.Create("ahp-chat:/c", labChat("ahp-chat:/c"), "ahp-session:/s")); err != nil {
						t.Fatal(err)
					}
					phase.do(w)
					if quiet {
						synctest.Wait()
					}
					began := time.Now()
					if err := w.h.Shutdown(t.Context()); err != nil {
						t.Errorf("shutdown: %v", err)
					}
					if d := time.Since(began); d > phase.max {
						t.Errorf("shutdown took %v, want at most %v", d, phase.max)
					}
					if err := w.h.Create("ahp-session:/late", labSession("x"), ""); err != nil {
						t.Errorf("create after shutdown: %v", err) // it harms nobody
					}
				})
			})
		}
	}
}

// TestShutdownCutShort: a context that ends cuts the flush short and says so.
func TestShutdownCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate()
		w := newWorld(t, Options{Store: gate})
		if err := w.h.Create("ahp-session:/s", labSession("x"), ""); err != nil {
			t.Fatal(err)
		}
		p := w.peer("a")
		p.initialize("a", "ahp-session:/s")
		synctest.Wait()
		gate.hold(nil)
		w.h.Apply("ahp-session:/s", &ahp.SessionTitleChanged{Title: "never sent"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.AfterFunc(2*time.Second, gate.release)
		if err := w.h.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shutdown: %v, want the deadline", err)
		}
	})
}
