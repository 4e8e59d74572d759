package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/causeway-ahp/causeway/agent/shell"
	"github.com/causeway-ahp/causeway/ahp"
)

// callText says on one line what a tool call is: a command as it is, another
// tool's call by what its agent calls it.
func callText(t *ahp.ToolCall) string {
	if t.ToolName == shell.ProviderID || t.InvocationMessage == nil || t.InvocationMessage.Text == "" {
		return inputText(t)
	}
	return oneLine(t.InvocationMessage.Text, 200)
}

// inputText is the input of a tool call on one line.
func inputText(t *ahp.ToolCall) string {
	if t.ToolInput != nil && t.ToolInput.Text != "" {
		return oneLine(t.ToolInput.Text, 200)
	}
	return oneLine(t.DisplayName, 200)
}

// consentText is what somebody has to know who is to consent: what it is, with
// what input, and which files change.
func consentText(t *ahp.ToolCall) string {
	text := callText(t)
	if input := inputText(t); input != text && input != oneLine(t.DisplayName, 200) {
		text += "\n  " + input
	}
	if t.Edits == nil {
		return text
	}
	for _, e := range t.Edits.Items {
		text += "\n  " + editText(&e)
	}
	return text
}

// editText is a change of a file on one line.
func editText(e *ahp.FileEdit) string {
	what, side := "changes", e.After
	switch {
	case e.Before == nil:
		what = "adds"
	case e.After == nil:
		what, side = "deletes", e.Before
	}
	if side == nil {
		return what + " a file"
	}
	text := what + " " + oneLine(pathOf(side.URI), 200)
	if e.Diff != nil && e.Diff.Added != nil && e.Diff.Removed != nil {
		text += fmt.Sprintf(" (+%d −%d)", *e.Diff.Added, *e.Diff.Removed)
	}
	return text
}

// pathOf is the path of a file URI, any other URI as it is.
func pathOf(uri ahp.URI) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return strings.TrimSpace(uri)
}
