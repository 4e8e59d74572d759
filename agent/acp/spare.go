package acp

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/agent"
)

// spareTime is how long an agent that was started to see what it offers waits for
// its session.
const spareTime = time.Minute

// spare is an agent that was started ahead of its session, or why it could not
// be. It is taken or dropped once.
type spare struct {
	s     *session // nil with err
	err   error
	dirs  []string
	with  map[string]agent.Token
	once  sync.Once
	timer *time.Timer
}

// Prepare implements agent.Preparer.
func (p *Provider) Prepare(ctx context.Context, spec agent.Spec) {
	select {
	case p.preparing <- struct{}{}: // one at a time
	case <-ctx.Done():
		return
	}
	defer func() { <-p.preparing }()
	if p.Prepared() {
		return
	}
	paths, err := p.directories(spec.Directories)
	if err != nil {
		return // Open finds the same
	}
	s, err := p.start(ctx, agent.Spec{Directories: spec.Directories, Tokens: spec.Tokens})
	if err == nil {
		s.mu.Lock()
		p.learn(s.options)
		s.mu.Unlock()
	}
	p.keep(&spare{s: s, err: err, dirs: paths, with: spec.Tokens})
}

// keep holds a spare ready for the next Open.
func (p *Provider) keep(kept *spare) {
	p.mu.Lock()
	before, closed := p.spare, p.closed
	p.spare = kept
	// It is armed only when drop can see it.
	kept.timer = time.AfterFunc(math.MaxInt64, kept.drop)
	kept.timer.Reset(spareTime)
	p.mu.Unlock()
	if before != nil {
		before.drop()
	}
	if closed {
		kept.drop()
	}
}

// drop ends a spare agent, unless somebody has taken it.
func (k *spare) drop() {
	k.once.Do(func() {
		k.timer.Stop()
		if k.s != nil {
			_ = k.s.Close()
		}
	})
}

// takeSpare returns the agent that was started ahead, or why that failed, if it
// fits; nothing otherwise.
func (p *Provider) takeSpare(spec agent.Spec, dirs []string) (s *session, err error) {
	p.mu.Lock()
	k := p.spare
	fits := k != nil && spec.ResumeToken == nil && spec.Turns == 0 && slices.Equal(k.dirs, dirs) &&
		len(spec.Config[mcpProperty]) == 0 && maps.Equal(k.with, spec.Tokens)
	if fits {
		p.spare = nil
	}
	p.mu.Unlock()
	if !fits {
		return nil, nil
	}
	k.once.Do(func() {
		k.timer.Stop()
		s, err = k.s, k.err
	})
	if s != nil && s.Err() != nil {
		_ = s.Close()
		return nil, nil
	}
	return s, err
}
