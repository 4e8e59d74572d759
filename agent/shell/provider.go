package shell

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// ProviderID is the provider of sessions with this agent.
const ProviderID = "shell"

// Options are what a Provider can be given; the zero value is ready for use.
type Options struct {
	// Environ is the environment commands inherit, nil for the host's own. Names
	// that begin with CAUSEWAY_ are left out of it.
	Environ []string
}

// Provider opens shell sessions. Its methods may be called concurrently.
type Provider struct {
	env   []string
	stats counters

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	consents map[ahp.URI]*consents // of sessions with an open chat
}

var _ agent.Provider = (*Provider)(nil)

// counters count what a limit did. They only grow.
type counters struct{ overLimit, background, abandoned, forgotten atomic.Uint64 }

// Stats are the counters of a provider since its start.
type Stats struct {
	OverLimit  uint64 // commands ended because of MaxOutputBytes
	Background uint64 // commands whose background processes had to be ended
	Abandoned  uint64 // commands that even SIGKILL did not end in time
	Forgotten  uint64 // permissions for a session not kept because of maxConsents
}

// New returns a provider that has started nothing yet.
func New(o Options) *Provider {
	env := o.Environ
	if env == nil {
		env = os.Environ()
	}
	return &Provider{
		env:      commandEnv(env),
		sessions: make(map[*session]struct{}),
		consents: make(map[ahp.URI]*consents),
	}
}

// Stats returns the counters now.
func (p *Provider) Stats() Stats {
	return Stats{
		OverLimit:  p.stats.overLimit.Load(),
		Background: p.stats.background.Load(),
		Abandoned:  p.stats.abandoned.Load(),
		Forgotten:  p.stats.forgotten.Load(),
	}
}

// Describe implements agent.Provider.
func (p *Provider) Describe() agent.Description {
	return agent.Description{
		Provider:      ProviderID,
		DisplayName:   "Shell",
		Description:   "Runs each line as a command in the working directory, with your consent",
		MultipleChats: true,
	}
}

// ResolveConfig implements agent.Provider. A shell has nothing to configure.
func (p *Provider) ResolveConfig(context.Context, []ahp.URI, map[string]jsontext.Value) (agent.Config, error) {
	return agent.Config{
		Schema: ahp.ConfigSchema{Type: "object", Properties: map[string]ahp.ConfigPropertySchema{}},
		Values: map[string]jsontext.Value{},
	}, nil
}

// Open implements agent.Provider. The first directory must exist; another one
// that does not is no root for read-only commands.
func (p *Provider) Open(ctx context.Context, spec agent.Spec, host agent.Host) (agent.Session, error) {
	dir, roots, err := resolveDirectories(spec.Directories)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, &agent.StartError{Type: "agentStartFailed", Message: "the shell agent is closed", Err: agent.ErrClosed}
	}
	s := newSession(ctx, p, spec.Session, host)
	s.dir, s.roots, s.consents = dir, roots, p.shareConsentsLocked(spec.Session)
	s.env = append(p.env[:len(p.env):len(p.env)], "PWD="+dir)
	p.sessions[s] = struct{}{}
	return s, nil
}

// shareConsentsLocked returns what was allowed in a session, which all its
// chats share.
func (p *Provider) shareConsentsLocked(session ahp.URI) *consents {
	c := p.consents[session]
	if c == nil {
		c = &consents{forgotten: &p.stats.forgotten}
		p.consents[session] = c
	}
	c.chats++
	return c
}

// forget drops an ended chat, and with the last one of a session what was
// allowed in it.
func (p *Provider) forget(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s)
	if s.consents.chats--; s.consents.chats == 0 {
		delete(p.consents, s.uri)
	}
}

// Close implements agent.Provider.
func (p *Provider) Close() error {
	for _, s := range p.shut() {
		s.end()
	}
	for _, s := range p.shut() {
		if err := s.Close(); err != nil {
			return fmt.Errorf("close shell session: %w", err)
		}
	}
	return nil
}

// shut refuses further sessions and returns those that are open.
func (p *Provider) shut() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	open := make([]*session, 0, len(p.sessions))
	for s := range p.sessions {
		open = append(open, s)
	}
	return open
}
