package cases

import (
	"context"
	"sync"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// play is what an agent does with a prompt.
type play func(ctx context.Context, a *actor, p agent.Prompt) agent.Outcome

// talker answers with what it computes from the message, piece by piece.
func talker(pieces func(message string) []string) play {
	return func(ctx context.Context, a *actor, p agent.Prompt) agent.Outcome {
		for _, piece := range pieces(p.Message.Text) {
			if err := a.Emit(ctx, agent.Text{TurnID: p.TurnID, Text: piece}); err != nil {
				return agent.Outcome{Result: agent.Failed}
			}
		}
		return agent.Outcome{Result: agent.Completed}
	}
}

// troupe is a provider whose agents all play one piece.
type troupe struct {
	play play
	open func(ctx context.Context) error // asked before an agent is opened, when set
}

func (p *troupe) Describe() agent.Description {
	return agent.Description{Provider: "troupe", DisplayName: "Troupe", MultipleChats: true}
}

func (p *troupe) ResolveConfig(context.Context, []ahp.URI, map[string]jsontext.Value) (agent.Config, error) {
	return agent.Config{}, nil
}

func (p *troupe) Open(ctx context.Context, _ agent.Spec, h agent.Host) (agent.Session, error) {
	if p.open != nil {
		if err := p.open(ctx); err != nil {
			return nil, err
		}
	}
	return &actor{Host: h, play: p.play, done: make(chan struct{})}, nil
}

func (p *troupe) Close() error { return nil }

// actor is one agent.
type actor struct {
	agent.Host
	play play
	done chan struct{}
	once sync.Once
}

func (a *actor) Prompt(ctx context.Context, p agent.Prompt) agent.Outcome { return a.play(ctx, a, p) }

// die ends the agent as a crash of its process would.
func (a *actor) die() { a.once.Do(func() { close(a.done) }) }

func (a *actor) Cancel(string)                            {}
func (a *actor) Steer(context.Context, *ahp.Message) bool { return false }
func (a *actor) SetConfig(context.Context, string, jsontext.Value) (map[string]jsontext.Value, error) {
	return nil, nil
}
func (a *actor) ResumeToken() []byte   { return nil }
func (a *actor) Done() <-chan struct{} { return a.done }
func (a *actor) Err() error            { return nil }
func (a *actor) Close() error {
	a.die()
	return nil
}
