package host

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reducer"
)

// lab is a feature with the least of sessions and chats, so that the host is
// tested without knowing what they mean.
type lab struct {
	h *Host
	// reduced is called under the sequencer's lock with every action of a
	// session that is reduced; nil for nothing.
	reduced func(a ahp.Action)
	tame    bool // nothing in it panics

	mu      sync.Mutex
	slow    chan struct{} // what chat effects wait for, nil for nothing
	effects []Committed
	heard   []string // hooks, in order
}

var _ Feature = (*lab)(nil)

func (l *lab) Register(r *Registry) error {
	never := func(ahp.Action) bool { return false }
	r.InitializeMember("x-lab", []byte(`{}`))
	r.Hooks(Hooks{
		Subscribed:   func(c *Conn, u ahp.URI) { l.hear("subscribed", c, u) },
		Unsubscribed: func(c *Conn, u ahp.URI) { l.hear("unsubscribed", c, u) },
		Lost:         func(c *Conn) { l.hear("lost", c, "") },
		Resumed:      func(c *Conn) { l.hear("resumed", c, "") },
	})
	r.Hooks(Hooks{Subscribed: func(_ *Conn, u ahp.URI) {
		if strings.HasSuffix(u, "trap") && !l.tame {
			panic("a hook fell into the trap")
		}
	}})
	return errors.Join(
		r.Scheme(Scheme{Kind: ahp.KindSession, Durable: true, Reduce: l.reduceSession, Validate: l.validateSession, HasEffect: never}),
		r.Scheme(Scheme{
			Kind: ahp.KindChat, Durable: true, Reduce: reducer.Apply, Validate: validateLabChat,
			Open:      func(state any) bool { return state.(*ahp.ChatState).ActiveTurn != nil },
			HasEffect: func(a ahp.Action) bool { _, ok := a.(*ahp.ChatTurnStarted); return ok },
			Effect:    l.effect,
		}),
		r.Scheme(Scheme{
			Kind: ahp.KindTerminal, Class: Volatile, Reduce: reducer.Apply, HasEffect: never,
			Validate: func(any, ahp.Action, Actor) string { return "" },
		}),
		r.Request(ahp.MethodCreateSession, l.createSession),
		r.Request(ahp.MethodDisposeSession, l.disposeSession),
		r.Request("x-panic", func(context.Context, *Request) jsonrpc.Reply {
			if l.tame {
				return jsonrpc.Reply{}
			}
			panic("as asked")
		}),
		r.Request("x-fail", func(context.Context, *Request) jsonrpc.Reply {
			return jsonrpc.Reply{Err: errors.New("open /secret/path: no such file")}
		}),
		r.Request("x-sleep", func(context.Context, *Request) jsonrpc.Reply {
			return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) { return "slept", sleep(ctx, time.Hour) }}
		}),
	)
}

func (l *lab) reduceSession(state any, a ahp.Action) any {
	if l.reduced != nil {
		l.reduced(a)
	}
	return reducer.Apply(state, a)
}

func (l *lab) Start(_ context.Context, h *Host) error { l.h = h; return nil }
func (l *lab) Stop(context.Context) error             { return nil }

func (l *lab) hear(what string, c *Conn, u ahp.URI) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, strings.TrimSpace(what+" "+c.ClientID()+" "+u))
}

func (l *lab) effect(ctx context.Context, e Committed) {
	l.mu.Lock()
	slow := l.slow
	l.mu.Unlock()
	if slow != nil {
		select {
		case <-slow:
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.effects = append(l.effects, e)
	if strings.HasSuffix(e.Action.(*ahp.ChatTurnStarted).TurnID, "trap") && !l.tame {
		panic("an effect fell into the trap")
	}
}

func (l *lab) disposeSession(_ context.Context, r *Request) jsonrpc.Reply {
	if !l.h.Remove(r.Channel) {
		return jsonrpc.Reply{Err: ahp.ErrSessionNotFound}
	}
	return jsonrpc.Reply{}
}

func (l *lab) createSession(_ context.Context, r *Request) jsonrpc.Reply {
	if ahp.KindOf(r.Channel) != ahp.KindSession {
		return jsonrpc.Reply{Err: jsonrpc.ErrInvalidParams}
	}
	return jsonrpc.Reply{Err: l.h.Create(r.Channel, labSession("made"), "")}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func labSession(title string) *ahp.SessionState {
	s := reducer.New(ahp.KindSession).(*ahp.SessionState)
	s.Provider, s.Title, s.Lifecycle = "lab", title, ahp.LifecycleReady
	return s
}

func labChat(uri ahp.URI) *ahp.ChatState {
	s := reducer.New(ahp.KindChat).(*ahp.ChatState)
	s.ChatInfo = ahp.ChatInfo{Resource: uri, Title: "chat", Status: ahp.StatusIdle, ModifiedAt: Now()}
	return s
}

func (l *lab) validateSession(_ any, a ahp.Action, by Actor) string {
	if t, ok := a.(*ahp.SessionTitleChanged); ok {
		switch t.Title {
		case "":
			return "a title must not be empty"
		case "trap":
			if !l.tame {
				panic("a validator fell into the trap")
			}
		}
	}
	if s, ok := a.(*ahp.SessionActiveClientSet); ok && s.ActiveClient.ClientID != by.ClientID {
		return "not your client"
	}
	return ""
}

func validateLabChat(state any, a ahp.Action, _ Actor) string {
	s := state.(*ahp.ChatState)
	switch a := a.(type) {
	case *ahp.ChatTurnStarted:
		if s.ActiveTurn != nil {
			return "a turn is active"
		}
	case *ahp.ChatTurnCancelled:
		if s.ActiveTurn == nil || s.ActiveTurn.ID != a.TurnID {
			return "no such turn is active"
		}
	}
	return ""
}

// labPolicy gives every principal what its name says: "guest" sees everything
// and changes nothing, "blind" sees the root channel only, others do all.
type labPolicy struct{}

func (labPolicy) Allow(p Principal, op Op, channel ahp.URI) bool {
	switch p {
	case "guest":
		return op == OpSee
	case "blind":
		return op == OpSee && channel == ahp.RootURI || channel == "ahp-session:/blind"
	}
	return true
}
