package toolnotify

import (
	"context"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/notify"
)

const (
	// maxStarted bounds the calls whose beginning is remembered; over it the next ones
	// count as begun when they are first told of.
	maxStarted = 10_000
	// fireTries and firePause bound how long a store that refuses holds the log up.
	fireTries = 5
	firePause = 200 * time.Millisecond
)

// observe is called by the host with each action, in their order, after the commit.
func (f *Feature) observe(ctx context.Context, o host.Observed) {
	select {
	case <-f.ready:
	case <-ctx.Done():
		return
	}
	before, _ := o.Before.(*ahp.ChatState)
	after, _ := o.After.(*ahp.ChatState)
	if before == nil || after == nil {
		return
	}
	for _, h := range happenings(o.Action, before, after) {
		f.tell(ctx, o.Channel, o.ServerSeq, h)
	}
}

// catchUp tells of the calls that ended behind the engine's place in the log, from
// what the host still has of it. An end is final, so it is read from the present state.
func (f *Feature) catchUp(at uint64) {
	f.h.Past(at, ahp.KindChat, wants, func(chat ahp.URI, seq uint64, a ahp.Action) {
		if f.ctx.Err() != nil {
			return
		}
		state, err := f.h.Load(chat)
		if err != nil {
			return // the chat is gone, and with it who wanted to hear of it
		}
		for _, h := range past(a, state.(*ahp.ChatState)) {
			f.tell(f.ctx, chat, seq, h)
		}
	})
}

// past are the ends that an action of the past has led to.
func past(a ahp.Action, now *ahp.ChatState) (list []happening) {
	var turn, id string
	switch a := a.(type) {
	case *ahp.ChatToolCallConfirmed:
		turn, id = a.TurnID, a.ToolCallID
	case *ahp.ChatToolCallComplete:
		turn, id = a.TurnID, a.ToolCallID
	case *ahp.ChatToolCallResultConfirmed:
		turn, id = a.TurnID, a.ToolCallID
	case *ahp.ChatTurnComplete:
		turn = a.TurnID
	case *ahp.ChatTurnCancelled:
		turn = a.TurnID
	case *ahp.ChatError:
		turn = a.TurnID
	default:
		return nil
	}
	i, ok := now.Turns.Find(turn)
	parts := ahp.List[ahp.ResponsePart]{}
	switch {
	case ok:
		parts = now.Turns.At(i).ResponseParts
	case now.ActiveTurn != nil && now.ActiveTurn.ID == turn:
		parts = now.ActiveTurn.ResponseParts
	}
	for _, p := range parts.All() {
		part, ok := p.Part.(*ahp.ToolCallPart)
		if ok && part.ToolCall != nil && part.ToolCall.Ended() && (id == "" || part.ToolCall.ToolCallID == id) {
			list = append(list, ended(turn, part.ToolCall))
		}
	}
	return list
}

// tell hands what happened to the engine.
func (f *Feature) tell(ctx context.Context, chat ahp.URI, seq uint64, h happening) {
	key := chat + "\x00" + h.turn + "\x00" + h.call.ToolCallID
	started := f.began(key, h.trigger.Terminal())
	if h.trigger == "" {
		return
	}
	ev := notify.Event{
		Source: f.source, Position: int64(seq), Scopes: []string{chat}, Call: key, Tool: h.call.ToolName,
		Trigger: h.trigger, End: h.end, Progress: h.progress, Started: started, At: time.Now(),
		May: func(p string) bool { return f.h.Allows(host.Principal(p), host.OpSee, chat) },
	}
	session := f.h.Parent(chat)
	if session != "" {
		ev.Scopes = append(ev.Scopes, session)
	}
	ev.Subject = marshal(subject{Session: session, Chat: chat, TurnID: h.turn, ToolCallID: h.call.ToolCallID})
	if h.call.Contributor != nil {
		ev.Contributor = h.call.Contributor.Kind
	}
	f.fire(ctx, ev)
}

// subject is the member ahp of a notification (tool-call notifications, 7.1.2).
type subject struct {
	Session    ahp.URI `json:"session,omitzero"`
	Chat       ahp.URI `json:"chat"`
	TurnID     string  `json:"turnId"`
	ToolCallID string  `json:"toolCallId"`
}

// fire tells the engine, several times where its store refuses. What it does not take
// at all is logged: the turn itself is not to suffer (case 137).
func (f *Feature) fire(ctx context.Context, ev notify.Event) {
	var err error
	for range fireTries {
		if err = f.engine.Fire(ctx, ev); err == nil || ctx.Err() != nil {
			return
		}
		if !pause(ctx, firePause) {
			return
		}
	}
	f.log.Error("the end of a tool call could not be kept; its notifications are lost unless the host is restarted",
		"trigger", ev.Trigger, "position", ev.Position, "err", err)
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// began is when a call was first heard of; over forgets it.
func (f *Feature) began(key string, over bool) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.started[key]
	switch {
	case over:
		delete(f.started, key)
	case !ok && len(f.started) < maxStarted:
		at = time.Now()
		f.started[key] = at
	}
	return at
}
