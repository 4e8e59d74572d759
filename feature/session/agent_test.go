package session

import (
	"context"
	"errors"
	"sync"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// puppet is a provider whose agents do what the test says. Its functions are set
// before the world is made, or while nothing runs.
type puppet struct {
	// turn plays one prompt. By default it answers "ok: <text>".
	turn func(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome
	// open is asked before a session is opened.
	open func(ctx context.Context, spec agent.Spec, h agent.Host) error
	// onClose runs in Close, before the agent is gone.
	onClose func()
	// steer answers Steer; without it the agent takes nothing.
	steer func(ctx context.Context, m *ahp.Message) bool
	// setConfig answers SetConfig; without it every value is taken.
	setConfig func(id string, v jsontext.Value) (map[string]jsontext.Value, error)
	// ignoreCancel makes Cancel do nothing.
	ignoreCancel bool
	// plain agents have no configuration.
	plain    bool
	describe agent.Description

	mu      sync.Mutex
	opened  []*puppetSession
	prompts []agent.Prompt
	overlap bool // two prompts of one session were outstanding at a time
}

func (p *puppet) Describe() agent.Description {
	d := p.describe
	if d.Provider == "" {
		d.Provider = "puppet"
	}
	d.DisplayName = "Puppet"
	return d
}

// configured is what sessions of a puppet can be told.
var configured = map[string]ahp.ConfigPropertySchema{
	"mode":  {Type: "string", Title: "Mode", SessionMutable: new(true)},
	"fixed": {Type: "string", Title: "Fixed", SessionMutable: new(false)},
}

func (p *puppet) ResolveConfig(_ context.Context, _ []ahp.URI, given map[string]jsontext.Value) (agent.Config, error) {
	if p.plain {
		return agent.Config{}, nil
	}
	values := map[string]jsontext.Value{"mode": jsontext.Value(`"calm"`), "fixed": jsontext.Value(`"x"`)}
	for id, v := range given {
		if _, ok := configured[id]; !ok {
			return agent.Config{}, errors.New("no such property")
		}
		values[id] = v
	}
	return agent.Config{Schema: ahp.ConfigSchema{Type: "object", Properties: configured}, Values: values}, nil
}

func (p *puppet) Open(ctx context.Context, spec agent.Spec, h agent.Host) (agent.Session, error) {
	if p.open != nil {
		if err := p.open(ctx, spec, h); err != nil {
			return nil, err
		}
	}
	s := &puppetSession{p: p, spec: spec, host: h, cancels: make(map[string]chan struct{}), done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened = append(p.opened, s)
	return s, nil
}

func (p *puppet) Close() error { return nil }

// sessions are the agents opened so far.
func (p *puppet) sessions() []*puppetSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*puppetSession(nil), p.opened...)
}

// alive counts the agents that have not ended.
func (p *puppet) alive() (n int) {
	for _, s := range p.sessions() {
		select {
		case <-s.done:
		default:
			n++
		}
	}
	return n
}

// prompted are the texts of the prompts so far, in order.
func (p *puppet) prompted() (texts []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.prompts {
		texts = append(texts, q.Message.Text)
	}
	return texts
}

// puppetSession is one agent.
type puppetSession struct {
	p    *puppet
	spec agent.Spec
	host agent.Host

	mu      sync.Mutex
	working bool
	cancels map[string]chan struct{}
	told    []string // configuration, as id=value
	done    chan struct{}
	once    sync.Once
}

// cancelled is closed when the turn was asked to stop.
func (s *puppetSession) cancelled(turnID string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cancels[turnID]
	if c == nil {
		c = make(chan struct{})
		s.cancels[turnID] = c
	}
	return c
}

// enter notes that a prompt is outstanding, and returns what notes its end.
func (s *puppetSession) enter(p agent.Prompt) (leave func()) {
	s.mu.Lock()
	busy := s.working
	s.working = true
	s.mu.Unlock()
	s.p.mu.Lock()
	s.p.prompts = append(s.p.prompts, p)
	s.p.overlap = s.p.overlap || busy
	s.p.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.working = false
	}
}

func (s *puppetSession) Prompt(ctx context.Context, p agent.Prompt) agent.Outcome {
	defer s.enter(p)()
	if s.p.turn != nil {
		return s.p.turn(ctx, s, p)
	}
	s.say(ctx, p.TurnID, "ok: "+p.Message.Text)
	return agent.Outcome{Result: agent.Completed}
}

func (s *puppetSession) say(ctx context.Context, turnID, text string) {
	_ = s.host.Emit(ctx, agent.Text{TurnID: turnID, Text: text})
}

// hold waits until the turn is asked to stop or the agent is ended.
func (s *puppetSession) hold(ctx context.Context, turnID string) agent.Outcome {
	select {
	case <-s.cancelled(turnID):
	case <-s.done:
	case <-ctx.Done():
	}
	return agent.Outcome{Result: agent.Cancelled}
}

func (s *puppetSession) Cancel(turnID string) {
	if s.p.ignoreCancel {
		return
	}
	c := s.cancelled(turnID)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

func (s *puppetSession) Steer(ctx context.Context, m *ahp.Message) bool {
	return s.p.steer != nil && s.p.steer(ctx, m)
}

func (s *puppetSession) SetConfig(_ context.Context, id string, v jsontext.Value) (map[string]jsontext.Value, error) {
	s.mu.Lock()
	s.told = append(s.told, id+"="+string(v))
	s.mu.Unlock()
	if s.p.setConfig != nil {
		return s.p.setConfig(id, v)
	}
	return map[string]jsontext.Value{id: v}, nil
}

func (s *puppetSession) settings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.told...)
}

func (s *puppetSession) ResumeToken() []byte   { return []byte("token") }
func (s *puppetSession) Done() <-chan struct{} { return s.done }
func (s *puppetSession) Err() error            { return nil }

// die ends the agent as a crash would.
func (s *puppetSession) die() { s.once.Do(func() { close(s.done) }) }

func (s *puppetSession) Close() error {
	if s.p.onClose != nil {
		s.p.onClose()
	}
	s.die()
	return nil
}

var _ agent.Provider = (*puppet)(nil)

// holdTurns is a turn that goes on until it is stopped.
func holdTurns(ctx context.Context, s *puppetSession, p agent.Prompt) agent.Outcome {
	return s.hold(ctx, p.TurnID)
}
