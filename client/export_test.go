package client

// DispatchOf is the action that started a turn.
func DispatchOf(t *Turn) *Dispatch { return t.dispatch }
