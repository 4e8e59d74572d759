package acp

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Patience with an agent that is to end.
const (
	cancelGrace = 2 * time.Second // for the running turn
	closeGrace  = 2 * time.Second // for session/close
)

// session is one agent: a process of its own with one ACP session.
type session struct {
	// Constant once it is open.
	provider *Provider
	log      *slog.Logger
	stats    *counters
	dirs     []string // absolute; the first is the working directory
	env      []string // what the agent inherited, its tokens among it
	tokens   map[string]agent.Token
	servers  []mcpServer
	init     initializeResult
	turns0   int // turns before this agent

	conn      *conn
	files     *files
	terminals *terminals
	lastHeard atomic.Int64  // Unix nanoseconds
	changed   chan struct{} // holds a token when output waits to be published
	asking    sync.WaitGroup
	closer    sync.Once

	life   context.Context // ends with the session
	finish context.CancelCauseFunc

	// mu guards what follows. It is held while events are emitted, which keeps
	// their order; the host's locks are taken inside it.
	mu       sync.Mutex
	host     agent.Host // nil before somebody has it
	id       string     // of the ACP session, "" before it is known
	loading  bool       // a replay of the conversation comes in
	replayed replay
	turn     *turn
	prompts  int
	options  options
	shape    string // of the options the session was made with, or told last
	commands []agent.Command
	title    string
	doing    string // the activity told last
	preface  string // what the next turn begins with, "" for nothing
}

var _ agent.Session = (*session)(nil)

// attach gives the session its host and tells it what is known already.
func (s *session) attach(ctx context.Context, config map[string]jsontext.Value, host agent.Host) {
	context.AfterFunc(ctx, func() { s.conn.fail(context.Cause(ctx)) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host = host
	if s.options.within(config) {
		s.shape = s.options.shape()
	}
	s.tellOptions()
	if s.title != "" {
		s.tell(agent.Title{Title: s.title})
	}
	if s.commands != nil {
		s.tell(agent.Commands{Commands: s.commands})
	}
}

// tell emits an event of the session, if there is somebody to tell. The lock is
// held.
func (s *session) tell(e agent.Event) {
	if s.host != nil {
		_ = s.host.Emit(s.life, e) // an error says that the session is closing
	}
}

// activity tells what the agent does. The lock is held.
func (s *session) activity(text string) {
	if s.doing != text {
		s.doing = text
		s.tell(agent.Activity{Text: text})
	}
}

// poke lets the prompt publish output that waits.
func (s *session) poke() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Cancel implements agent.Session. It is asked of the agent once; what becomes of
// an agent that does not listen is the caller's business.
func (s *session) Cancel(turnID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn
	if t == nil || t.id != turnID || t.cancelled {
		return
	}
	t.cancelled = true
	for _, c := range t.order {
		if c.question != nil {
			s.withdraw(c)
		}
	}
	t.end(errTurnCancelled)
	if t.pending != nil {
		_ = s.conn.rpc.Notify(methodCancel, sessionRef{s.id}) // an agent that is gone ends the turn anyway
	}
}

// Steer implements agent.Session. ACP has no way to add to a running turn.
func (s *session) Steer(context.Context, *ahp.Message) bool { return false }

// resumeToken is what a session is found again by.
type resumeToken struct {
	SessionID string `json:"sessionId"`
}

// ResumeToken implements agent.Session.
func (s *session) ResumeToken() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, err := json.Marshal(resumeToken{s.id})
	if err != nil {
		return nil // an id that is no text cannot be asked for again
	}
	return token
}

// Done implements agent.Session.
func (s *session) Done() <-chan struct{} { return s.conn.gone }

// Err implements agent.Session.
func (s *session) Err() error {
	select {
	case <-s.conn.gone:
		return s.conn.why()
	default:
		return nil
	}
}

// Close implements agent.Session: it asks the agent to stop and to close the
// session, then ends its process group (agents.md, 4.7, host shutdown).
func (s *session) Close() error {
	s.closer.Do(func() {
		s.stop()
		s.conn.close()
		s.finish(errEnded)
		s.asking.Wait()
		s.terminals.close()
		s.files.close()
		s.provider.forget(s)
	})
	return nil
}

// stop ends the turn and the session as far as the agent joins in.
func (s *session) stop() {
	s.mu.Lock()
	t, id := s.turn, s.id
	asked := t != nil && t.cancelled
	s.mu.Unlock()
	if t != nil {
		s.Cancel(t.id)
		if asked || !s.await(t.over, cancelGrace) { // an agent that ignores a cancel had its time
			return
		}
	}
	if id == "" || !has(s.init.AgentCapabilities.SessionCapabilities.Close) {
		return
	}
	ctx, cancel := context.WithTimeoutCause(s.life, closeGrace, errEnded)
	defer cancel()
	if err := s.conn.call(ctx, methodSessionClose, sessionRef{id}, nil); err != nil {
		s.log.Debug("agent did not close its session", "err", err)
	}
}

// await waits for done, for a limited time, while the agent lives.
func (s *session) await(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-s.conn.gone:
	case <-timer.C:
	}
	return false
}
