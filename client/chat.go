package client

import (
	"context"
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// Chat is a subscribed chat.
type Chat struct{ *Channel }

// Chat subscribes to a chat with all its turns.
func (c *Client) Chat(ctx context.Context, uri ahp.URI) (*Chat, error) {
	return c.ChatView(ctx, uri, SubscribeOptions{})
}

// ChatView is Chat with options, such as a bound on the turns.
func (c *Client) ChatView(ctx context.Context, uri ahp.URI, o SubscribeOptions) (*Chat, error) {
	ch, err := c.subscribeKind(ctx, uri, ahp.KindChat, o)
	if err != nil {
		return nil, err
	}
	return &Chat{ch}, nil
}

// State is the optimistic state; see Channel.State.
func (c *Chat) State() *ahp.ChatState { return c.Channel.State().(*ahp.ChatState) }

// Send starts a turn with a text and waits until the host has decided about it.
// The turn shows in State at once. The error is a *RejectedError when the host
// refused, for instance since a turn is in progress (see Queue); for the others
// see Dispatch.Err. When ctx ends first, the turn is returned with the error: it
// goes on by itself.
func (c *Chat) Send(ctx context.Context, text string) (*Turn, error) {
	t := c.Start(ahp.UserMessage(text))
	return t, t.Accepted(ctx)
}

// Start is Send without the waiting, and for any message.
func (c *Chat) Start(m *ahp.Message) *Turn {
	t := &Turn{chat: c, id: newID()}
	t.dispatch = c.Dispatch(&ahp.ChatTurnStarted{TurnID: t.id, StartedAt: timestamp(), Message: m})
	return t
}

// Queue lets a message wait for the turns before it. The id names it in the
// state's queue, and in Unqueue.
func (c *Chat) Queue(m *ahp.Message) (id string, d *Dispatch) {
	id = newID()
	return id, c.Dispatch(&ahp.ChatPendingMessageSet{Kind: ahp.PendingQueued, ID: id, Message: m})
}

// Unqueue takes a message out of the queue.
func (c *Chat) Unqueue(id string) *Dispatch {
	return c.Dispatch(&ahp.ChatPendingMessageRemoved{Kind: ahp.PendingQueued, ID: id})
}

// Steer offers a message to the turn that runs.
func (c *Chat) Steer(m *ahp.Message) *Dispatch {
	return c.Dispatch(&ahp.ChatPendingMessageSet{Kind: ahp.PendingSteering, ID: newID(), Message: m})
}

// Cancel asks the host to abort the active turn. The error is ErrNoActiveTurn
// when there is none; that the host had ended it already shows as a
// *RejectedError of the dispatch.
func (c *Chat) Cancel() (*Dispatch, error) {
	t := c.State().ActiveTurn
	if t == nil {
		return nil, ErrNoActiveTurn
	}
	return c.Dispatch(&ahp.ChatTurnCancelled{TurnID: t.ID, Duration: elapsed(t.StartedAt)}), nil
}

// ConfirmOptions are the details of a decision. The zero value has none.
type ConfirmOptions struct {
	OptionID    string  // of the options the call offers
	EditedInput *string // approving; only for an editable call
	Reason      string  // denying: ahp.ReasonDenied (the default) or ReasonSkipped
	Message     string  // denying: a text for the agent
}

// Confirm decides about a tool call that waits: whether it may run, or whether
// its result may be used. The error is ErrNotWaiting when no such call waits. The
// first decision of any client wins; a later one is rejected.
func (c *Chat) Confirm(toolCallID string, approve bool, o ConfirmOptions) (*Dispatch, error) {
	s := c.State()
	if s.ActiveTurn == nil {
		return nil, fmt.Errorf("tool call %s: %w", toolCallID, ErrNotWaiting)
	}
	ref := ahp.ToolCallRef{TurnID: s.ActiveTurn.ID, ToolCallID: toolCallID}
	t := s.ToolCallByID(ref.TurnID, toolCallID)
	switch {
	case t != nil && t.Status == ahp.ToolPendingConfirmation:
		return c.Dispatch(confirmation(ref, approve, o)), nil
	case t != nil && t.Status == ahp.ToolPendingResultConfirmation:
		return c.Dispatch(&ahp.ChatToolCallResultConfirmed{ToolCallRef: ref, Approved: approve}), nil
	}
	return nil, fmt.Errorf("tool call %s: %w", toolCallID, ErrNotWaiting)
}

func confirmation(ref ahp.ToolCallRef, approve bool, o ConfirmOptions) *ahp.ChatToolCallConfirmed {
	a := &ahp.ChatToolCallConfirmed{ToolCallRef: ref, Approved: approve}
	if o.OptionID != "" {
		a.SelectedOptionID = &o.OptionID
	}
	if approve {
		a.Confirmed, a.EditedToolInput = new(ahp.ConfirmedUserAction), o.EditedInput
		return a
	}
	a.Reason = new(ahp.ReasonDenied)
	if o.Reason != "" {
		a.Reason = &o.Reason
	}
	if o.Message != "" {
		m := ahp.Plain(o.Message)
		a.ReasonMessage = &m
	}
	return a
}

// Answer answers a question of the agent: response is ahp.InputAccept,
// InputDecline or InputCancel.
func (c *Chat) Answer(requestID, response string, answers map[string]ahp.ChatInputAnswer) *Dispatch {
	return c.Dispatch(&ahp.ChatInputCompleted{RequestID: requestID, Response: response, Answers: answers})
}

// WaitingCalls lists the tool calls of the active turn that wait for somebody's
// decision; Confirm takes their ids.
func (c *Chat) WaitingCalls() []*ahp.ToolCall {
	s := c.State()
	if s.ActiveTurn == nil {
		return nil
	}
	var list []*ahp.ToolCall
	for _, p := range s.ActiveTurn.ResponseParts.All() {
		t, ok := p.Part.(*ahp.ToolCallPart)
		if ok && t.ToolCall != nil && t.ToolCall.WaitsForUser() && t.ToolCall.Status != ahp.ToolAuthRequired {
			list = append(list, t.ToolCall)
		}
	}
	return list
}

// FetchTurns loads a page of older turns into the state. More is false when
// there are none left.
func (c *Chat) FetchTurns(ctx context.Context) (more bool, err error) {
	cursor := c.Confirmed().(*ahp.ChatState).TurnsNextCursor
	if cursor == nil {
		return false, nil
	}
	p := ahp.FetchTurnsParams{Channel: c.URI(), Cursor: cursor}
	if err := c.Client().Call(ctx, ahp.MethodFetchTurns, p, nil); err != nil {
		return true, err
	}
	return c.Confirmed().(*ahp.ChatState).TurnsNextCursor != nil, nil
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// timestamp is the time now as the protocol writes it.
func timestamp() string { return time.Now().UTC().Format(timeFormat) }

// elapsed is the time since an ISO 8601 time, in milliseconds.
func elapsed(since string) float64 {
	t, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return 0
	}
	return max(0, float64(time.Since(t).Milliseconds()))
}
