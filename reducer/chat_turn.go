package reducer

import (
	"math"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// startTurn makes a turn the active one, without parts and without usage. It
// does nothing for a turn that is active or finished; a different active turn is
// lost, which the host prevents (AHP channels, 4.20).
func startTurn(s *ahp.ChatState, a *ahp.ChatTurnStarted) *ahp.ChatState {
	if isActive(s, a.TurnID) {
		return s
	}
	if _, finished := s.Turns.Find(a.TurnID); finished {
		return s
	}
	c, header := editHeader(s)
	c.ActiveTurn = &ahp.ActiveTurn{
		ID: a.TurnID, StartedAt: a.StartedAt, Message: a.Message,
		ResponseParts: ahp.NewList[ahp.ResponsePart](),
	}
	header.Status = s.Status.WithActivity(ahp.StatusInProgress).With(ahp.StatusIsRead, false)
	if a.StartedAt != "" {
		header.ModifiedAt = a.StartedAt
	}
	if a.QueuedMessageID != nil {
		dequeue(header, *a.QueuedMessageID)
	}
	return c
}

// dequeue removes the message that started a turn from wherever it waited.
func dequeue(h *ahp.ChatHeader, id string) {
	if h.SteeringMessage != nil && h.SteeringMessage.ID == id {
		h.SteeringMessage = nil
	}
	rest, _ := without(h.QueuedMessages, isPending(id))
	h.QueuedMessages = present(rest)
}

// turnEnd says how a turn ended.
type turnEnd struct {
	state    string
	duration float64          // milliseconds as the producer counted them
	part     ahp.ResponsePart // the error of state error
}

// endTurn moves the active turn to the finished ones. Calls that still run are
// cancelled, questions stay open without a response, and IsRead is not touched
// (AHP channels, 4.7, 4.11).
func endTurn(s *ahp.ChatState, turnID string, end turnEnd) *ahp.ChatState {
	if !isActive(s, turnID) {
		return s
	}
	c, header := editHeader(s)
	t := finished(s.ActiveTurn, end)
	c.Turns = s.Turns.Append(t)
	c.ActiveTurn = nil
	header.Status = s.Status.WithActivity(ahp.StatusIdle)
	if end.state == ahp.TurnError {
		header.Status = s.Status.WithActivity(ahp.StatusError)
	}
	if at, ok := endTime(s.ActiveTurn.StartedAt, *t.Duration); ok {
		header.ModifiedAt = at
	}
	return c
}

func finished(t *ahp.ActiveTurn, end turnEnd) *ahp.Turn {
	parts := cancelCalls(t.ResponseParts)
	if end.part.Part != nil {
		parts = parts.Append(end.part)
	}
	duration := max(0, end.duration)
	turn := &ahp.Turn{
		ID: t.ID, Duration: &duration, Message: t.Message,
		ResponseParts: parts, Usage: t.Usage, State: end.state,
	}
	if startedAt := t.StartedAt; startedAt != "" {
		turn.StartedAt = &startedAt
	}
	return turn
}

// timeFormat is the form of every time the protocol computes: three fractional
// digits and Z.
const timeFormat = "2006-01-02T15:04:05.000Z"

// maxUnixMilli ends the year 9999, beyond which timeFormat has no form.
const maxUnixMilli = 253402300799999

// endTime is duration milliseconds after startedAt, computed from the action
// alone: no two replicas of a state share a clock (AHP channels, 4.8). It is not
// ok if startedAt is no time or the result has no form.
func endTime(startedAt string, duration float64) (at string, ok bool) {
	start, err := time.Parse(time.RFC3339, startedAt)
	if err != nil {
		return "", false
	}
	ms := math.Trunc(float64(start.UnixMilli()) + duration)
	if ms > maxUnixMilli {
		return "", false
	}
	return time.UnixMilli(int64(ms)).UTC().Format(timeFormat), true
}

// resumeTurn takes the last turn up again, with all its parts, if it ended in an
// error that says it can be.
func resumeTurn(s *ahp.ChatState, a *ahp.ChatTurnResume) *ahp.ChatState {
	last := s.Turns.Len() - 1
	if s.ActiveTurn != nil || last < 0 {
		return s
	}
	t := s.Turns.At(last)
	if t.ID != a.TurnID || !resumable(t) {
		return s
	}
	startedAt := s.ModifiedAt
	if t.StartedAt != nil {
		startedAt = *t.StartedAt
	}
	c, header := editHeader(s)
	c.Turns = s.Turns.Truncate(last)
	c.ActiveTurn = &ahp.ActiveTurn{
		ID: t.ID, StartedAt: startedAt, Message: t.Message,
		ResponseParts: t.ResponseParts, Usage: t.Usage,
	}
	header.Status = s.Status.WithActivity(activity(c.ActiveTurn)).With(ahp.StatusIsRead, false)
	return c
}

func resumable(t *ahp.Turn) bool {
	last := t.ResponseParts.Len() - 1
	if t.State != ahp.TurnError || last < 0 {
		return false
	}
	p, ok := t.ResponseParts.At(last).Part.(*ahp.ErrorPart)
	return ok && p.Resumable != nil && *p.Resumable
}

// truncate drops the active turn and all turns behind the named one, without a
// name all of them. Queue, steering message and draft stay.
func truncate(s *ahp.ChatState, a *ahp.ChatTruncated) *ahp.ChatState {
	keep := 0
	if a.TurnID != nil {
		i, ok := s.Turns.Find(*a.TurnID)
		if !ok {
			return s
		}
		keep = i + 1
	}
	if keep == s.Turns.Len() && s.ActiveTurn == nil && (a.TurnID != nil || s.TurnsNextCursor == nil) {
		return derived(s)
	}
	c, header := editHeader(s)
	c.Turns = s.Turns.Truncate(keep)
	c.ActiveTurn = nil
	if a.TurnID == nil {
		header.TurnsNextCursor = nil
	}
	return derived(c)
}

// loadTurns puts older turns in front, without those the chat already has.
func loadTurns(s *ahp.ChatState, a *ahp.ChatTurnsLoaded) *ahp.ChatState {
	fresh := make([]*ahp.Turn, 0, len(a.Turns))
	for _, t := range a.Turns {
		if t == nil {
			continue // null on the wire; a list of turns holds none
		}
		if _, known := s.Turns.Find(t.ID); !known {
			fresh = append(fresh, t)
		}
	}
	c, header := editHeader(s)
	if len(fresh) > 0 {
		c.Turns = s.Turns.Prepend(fresh...)
	}
	header.TurnsNextCursor = a.TurnsNextCursor
	return c
}
