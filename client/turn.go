package client

import (
	"context"

	"github.com/causeway-ahp/causeway/ahp"
)

// Turn is one turn of a chat. Its methods may be called concurrently.
type Turn struct {
	chat     *Chat
	id       string
	dispatch *Dispatch // nil for a turn somebody else started
}

// Turn names a turn that exists, such as the active one, to wait for its end.
func (c *Chat) Turn(id string) *Turn { return &Turn{chat: c, id: id} }

// ID is the turn's id in the state of the chat.
func (t *Turn) ID() string { return t.id }

// Accepted waits until the host has decided whether the turn starts. For the
// error see Dispatch.Err; nil means that it does, or that it was there before.
func (t *Turn) Accepted(ctx context.Context) error {
	if t.dispatch == nil {
		return nil
	}
	return t.dispatch.Wait(ctx)
}

// Wait waits for the end of the turn and returns it; ahp.Turn.State says how it
// ended. It settles whether the end comes live, in a replay or in a fresh
// snapshot.
//
// It fails when the turn never began (*RejectedError, ErrUnknownOutcome,
// ErrNotSent), was removed (ErrTurnGone), when the chat or the client is over
// (see Channel.Err), or with the cause of ctx.
func (t *Turn) Wait(ctx context.Context) (*ahp.Turn, error) {
	var turn *ahp.Turn
	err := t.chat.wait(ctx, func() (bool, error) {
		found, err := t.lookLocked()
		turn = found
		return found != nil, err
	})
	return turn, err
}

// lookLocked returns the turn once it has ended, or why it never will.
func (t *Turn) lookLocked() (*ahp.Turn, error) {
	s := t.chat.ch.machine.Confirmed().(*ahp.ChatState)
	if i, ok := s.Turns.Find(t.id); ok {
		return s.Turns.At(i), nil
	}
	switch active := s.ActiveTurn != nil && s.ActiveTurn.ID == t.id; {
	case t.chat.ch.phase == gone:
		return nil, t.chat.ch.err
	case active:
		return nil, nil
	case t.dispatch == nil:
		return nil, ErrTurnGone
	}
	select {
	case <-t.dispatch.done:
	default:
		return nil, nil // the host has not decided
	}
	if t.dispatch.err != nil {
		return nil, t.dispatch.err
	}
	return nil, ErrTurnGone
}
