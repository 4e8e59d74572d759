package shell

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// Why a turn ended before its commands did: the causes of its context.
var (
	errCancelled = errors.New("turn was cancelled")
	errClosing   = errors.New("session is being closed")
)

// session is the agent of one chat. It owns no process between turns.
type session struct {
	// Constant after Open.
	provider *Provider
	uri      ahp.URI // of the session, not of the chat
	host     agent.Host
	dir      string // working directory as it was given, absolute
	roots    roots
	env      []string
	consents *consents

	life   context.Context // ends with the session
	finish context.CancelCauseFunc
	closer sync.Once
	done   chan struct{}

	mu      sync.Mutex
	current *turn
	closing bool
	turns   sync.WaitGroup // Add only under mu while not closing
}

var _ agent.Session = (*session)(nil)

func newSession(ctx context.Context, p *Provider, uri ahp.URI, host agent.Host) *session {
	s := &session{provider: p, uri: uri, host: host, done: make(chan struct{})}
	// The session outlives the call that opened it.
	s.life, s.finish = context.WithCancelCause(context.WithoutCancel(ctx))
	return s
}

// Prompt implements agent.Session.
func (s *session) Prompt(ctx context.Context, p agent.Prompt) agent.Outcome {
	t, err := s.begin(ctx, p.TurnID)
	switch {
	case errors.Is(err, errClosing):
		return agent.Outcome{Result: agent.Cancelled}
	case err != nil:
		return failed("turnInProgress", err.Error())
	}
	defer s.endTurn(t)
	if p.Message == nil {
		return t.answer("")
	}
	return t.answer(p.Message.Text)
}

func (s *session) begin(ctx context.Context, turnID string) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, errClosing
	}
	if s.current != nil {
		return nil, fmt.Errorf("turn %s is running", s.current.id)
	}
	t := &turn{s: s, id: turnID, caller: ctx}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.unlink = context.AfterFunc(s.life, func() { t.cancel(errClosing) })
	s.current = t
	s.turns.Add(1)
	return t, nil
}

func (s *session) endTurn(t *turn) {
	t.unlink()
	t.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	s.turns.Done()
}

// Cancel implements agent.Session.
func (s *session) Cancel(turnID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.id == turnID {
		s.current.cancel(errCancelled)
	}
}

// Steer implements agent.Session. A running command takes no messages.
func (s *session) Steer(context.Context, *ahp.Message) bool { return false }

// SetConfig implements agent.Session. There is nothing to set.
func (s *session) SetConfig(_ context.Context, id string, _ jsontext.Value) (map[string]jsontext.Value, error) {
	return nil, fmt.Errorf("the shell agent has no configuration property %q", id)
}

// ResumeToken implements agent.Session. A shell session keeps nothing that
// would have to be found again.
func (s *session) ResumeToken() []byte { return nil }

// Done implements agent.Session.
func (s *session) Done() <-chan struct{} { return s.done }

// Err implements agent.Session. This agent lives in the host and ends only by
// Close.
func (s *session) Err() error { return nil }

// end refuses further turns and lets the running one end, without waiting.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	s.finish(errClosing)
}

// Close implements agent.Session.
func (s *session) Close() error {
	s.end()
	s.turns.Wait()
	s.closer.Do(func() {
		s.provider.forget(s)
		close(s.done)
	})
	return nil
}
