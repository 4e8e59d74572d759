package reducer

import "github.com/causeway-ahp/causeway/ahp"

// The steps of a tool call from status to status (AHP channels, 2.3). Each
// returns t itself if t is not in a status the step begins at.

func streamInput(t *ahp.ToolCall, a *ahp.ChatToolCallDelta) *ahp.ToolCall {
	if t.Status != ahp.ToolStreaming {
		return t
	}
	n := *t
	if a.Content != nil {
		n.PartialInput = t.PartialInput.Append(*a.Content)
	}
	if a.InvocationMessage != nil {
		n.InvocationMessage = a.InvocationMessage
	}
	replaceMeta(&n, a.Meta)
	return &n
}

// readyCall is also the way back from running to a confirmation. The input is
// kept from there; the rest of what a confirmation shows only if it was already
// waiting (AHP channels, 4.15).
func readyCall(t *ahp.ToolCall, a *ahp.ChatToolCallReady) *ahp.ToolCall {
	switch t.Status {
	case ahp.ToolStreaming, ahp.ToolRunning, ahp.ToolPendingConfirmation:
	default:
		return t
	}
	status := ahp.ToolPendingConfirmation
	if a.Confirmed != nil {
		status = ahp.ToolRunning
	}
	n := advanced(t, status, a.Meta)
	n.InvocationMessage = &a.InvocationMessage
	n.Contributor = contributor(t.Contributor, a.Contributor)
	setRef(&n.Intention, a.Intention)
	if t.Status == ahp.ToolStreaming {
		n.ToolInput = nil
	}
	setRef(&n.ToolInput, a.ToolInput)
	n.Confirmed = a.Confirmed
	if a.Confirmed == nil {
		ask(n, t, a)
	}
	return n
}

// ask fills in what is shown to the user who must confirm n.
func ask(n, t *ahp.ToolCall, a *ahp.ChatToolCallReady) {
	if t.Status == ahp.ToolPendingConfirmation {
		n.ConfirmationTitle, n.RiskAssessment = t.ConfirmationTitle, t.RiskAssessment
		n.Edits, n.Editable, n.Options = t.Edits, t.Editable, t.Options
	}
	setRef(&n.ConfirmationTitle, a.ConfirmationTitle)
	setRef(&n.RiskAssessment, a.RiskAssessment)
	setRef(&n.Edits, a.Edits)
	setRef(&n.Editable, a.Editable)
	if a.Options != nil {
		n.Options = a.Options
	}
}

// contributor is who owns a call after it became ready. A call that a client
// executes never changes hands, and no call becomes a client's that late
// (AHP channels, 2.3, since 0.8).
func contributor(old, given *ahp.ToolCallContributor) *ahp.ToolCallContributor {
	if given == nil {
		return old
	}
	mine, theirs := clientOf(old), clientOf(given)
	if (mine == nil) != (theirs == nil) || mine != nil && *mine != *theirs {
		return old
	}
	return given
}

// clientOf names the client that executes a call, nil if none does.
func clientOf(c *ahp.ToolCallContributor) *string {
	if c == nil || c.Kind != ahp.ContributorClient {
		return nil
	}
	if c.ClientID == nil {
		return new("")
	}
	return c.ClientID
}

func confirmCall(t *ahp.ToolCall, a *ahp.ChatToolCallConfirmed) *ahp.ToolCall {
	if t.Status != ahp.ToolPendingConfirmation {
		return t
	}
	status := ahp.ToolCancelled
	if a.Approved {
		status = ahp.ToolRunning
	}
	n := advanced(t, status, a.Meta)
	n.SelectedOption = option(t.Options, a.SelectedOptionID)
	if !a.Approved {
		n.Reason, n.ReasonMessage, n.UserSuggestion = a.Reason, a.ReasonMessage, a.UserSuggestion
		return n
	}
	n.Confirmed = a.Confirmed
	// Of an input by reference the host rewrites the resource instead.
	if a.EditedToolInput != nil && t.ToolInput != nil && t.ToolInput.Ref == nil {
		n.ToolInput = ahp.InlineInput(*a.EditedToolInput)
	}
	return n
}

// option resolves a choice; one that is unknown is dropped without a word
// (AHP channels, 4.16).
func option(options []ahp.ConfirmationOption, id *string) *ahp.ConfirmationOption {
	if id == nil {
		return nil
	}
	i := index(options, func(o *ahp.ConfirmationOption) bool { return o.ID == *id })
	if i < 0 {
		return nil
	}
	return &options[i]
}

// completeCall takes the result. Content streamed before is replaced by the
// result's, or lost. A call that waits for a sign-in can only fail, and then
// keeps that content if the result has none (AHP channels, 4.13 and 4.14).
func completeCall(t *ahp.ToolCall, a *ahp.ChatToolCallComplete) *ahp.ToolCall {
	fromAuth := t.Status == ahp.ToolAuthRequired
	switch {
	case t.Status == ahp.ToolRunning, t.Status == ahp.ToolPendingConfirmation:
	case fromAuth && !a.Result.Success:
	default:
		return t
	}
	status := ahp.ToolCompleted
	if !fromAuth && a.RequiresResultConfirmation != nil && *a.RequiresResultConfirmation {
		status = ahp.ToolPendingResultConfirmation
	}
	n := advanced(t, status, a.Meta)
	n.Confirmed, n.SelectedOption = t.Confirmed, t.SelectedOption
	if t.Status == ahp.ToolPendingConfirmation {
		n.Confirmed = new(ahp.ConfirmedNotNeeded)
	}
	setResult(n, &a.Result)
	if fromAuth && n.Content == nil {
		n.Content = t.Content
	}
	return n
}

func setResult(n *ahp.ToolCall, r *ahp.ToolCallResult) {
	n.Success, n.PastTenseMessage = &r.Success, &r.PastTenseMessage
	n.Content, n.Error, n.Extra = r.Content, r.Error, r.Extra
	if given(r.StructuredContent) {
		n.StructuredContent = r.StructuredContent
	}
}

// confirmResult lets the user keep a result or throw it away.
func confirmResult(t *ahp.ToolCall, a *ahp.ChatToolCallResultConfirmed) *ahp.ToolCall {
	if t.Status != ahp.ToolPendingResultConfirmation {
		return t
	}
	if !a.Approved {
		n := advanced(t, ahp.ToolCancelled, a.Meta)
		n.Reason, n.SelectedOption = new(ahp.ReasonResultDenied), t.SelectedOption
		return n
	}
	n := advanced(t, ahp.ToolCompleted, a.Meta)
	n.Confirmed, n.SelectedOption = t.Confirmed, t.SelectedOption
	n.Success, n.PastTenseMessage, n.Error = t.Success, t.PastTenseMessage, t.Error
	n.Content, n.StructuredContent = t.Content, t.StructuredContent
	return n
}

func changeContent(t *ahp.ToolCall, a *ahp.ChatToolCallContentChanged) *ahp.ToolCall {
	if t.Status != ahp.ToolRunning {
		return t
	}
	n := *t
	n.Content = listed(a.Content)
	replaceMeta(&n, a.Meta)
	return &n
}

// requireAuth stops a call for a sign-in, which only MCP servers ask for.
func requireAuth(t *ahp.ToolCall, a *ahp.ChatToolCallAuthRequired) *ahp.ToolCall {
	mcp := t.Contributor != nil && t.Contributor.Kind == ahp.ContributorMCP
	if t.Status != ahp.ToolRunning || !mcp {
		return t
	}
	n := advanced(t, ahp.ToolAuthRequired, a.Meta)
	n.Confirmed, n.SelectedOption, n.Content = t.Confirmed, t.SelectedOption, t.Content
	n.Auth = a.Auth
	return n
}

func resolveAuth(t *ahp.ToolCall, a *ahp.ChatToolCallAuthResolved) *ahp.ToolCall {
	if t.Status != ahp.ToolAuthRequired {
		return t
	}
	n := advanced(t, ahp.ToolRunning, a.Meta)
	n.Confirmed, n.SelectedOption, n.Content = t.Confirmed, t.SelectedOption, t.Content
	return n
}
