package compat

import (
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// Action writes a canonical action in the dialect. It is nil when the dialect
// does not have it: it is then not sent.
func (d Dialect) Action(body jsontext.Value) jsontext.Value {
	if d == Canonical {
		return body
	}
	raw, _ := jsonrpc.Member(body, "type")
	name, _ := jsonrpc.StringValue(raw)
	if name == "changeset/filesReviewChanged" && d >= V052 {
		return filesReviewed(body) // introduced under another name (AHP core, 18)
	}
	if !d.knows(name) {
		return nil
	}
	edit := d.actionEdit(name)
	if edit == nil {
		return body
	}
	if name == "chat/responsePart" && isErrorPart(body) {
		return nil // errors are no parts in older versions, and this one is a no-op
	}
	return rewrite(body, edit)
}

// actionEdit is what differs in an action, nil for nothing. The list follows
// AHP channels, the sections "Since 0.6".
func (d Dialect) actionEdit(name string) func(o *object) {
	if name == "changeset/statusChanged" {
		return func(o *object) { o.apply(changesetStatus, "status") }
	}
	if !d.before07() {
		return nil
	}
	switch name {
	case "root/agentsChanged":
		return func(o *object) { o.apply(each(agent), "agents") }
	case "root/terminalsChanged":
		return func(o *object) { o.apply(each(terminal), "terminals") }
	case "session/chatAdded":
		return func(o *object) { o.apply(chatInfo, "summary") }
	case "session/chatUpdated":
		return func(o *object) { o.apply(chatInfo, "changes") }
	case "session/activeClientSet":
		return func(o *object) { o.apply(activeClient, "activeClient") }
	case "session/inputNeededSet":
		return func(o *object) { o.apply(inputNeeded, "request") }
	case "session/customizationsChanged":
		return func(o *object) { o.apply(each(customization), "customizations") }
	case "session/customizationUpdated":
		return func(o *object) { o.apply(customization, "customization") }
	case "session/customizationToggled":
		return toggled
	case "annotations/set":
		return func(o *object) { o.apply(annotation, "annotation") }
	case "annotations/updated":
		return anchor
	}
	return chatActionEdit(name)
}

func chatActionEdit(name string) func(o *object) {
	switch name {
	case "chat/turnStarted", "chat/pendingMessageSet":
		return func(o *object) { o.apply(message, "message") }
	case "chat/draftChanged":
		return func(o *object) { o.apply(message, "draft") }
	case "chat/responsePart":
		return func(o *object) { o.apply(part, "part") }
	case "chat/error":
		return func(o *object) { o.set("error", errorOf(o.take("part"))) }
	case "chat/toolCallDelta":
		return func(o *object) {
			if o.get("content") == nil {
				o.set("content", quote("")) // optional since 0.8
			}
		}
	case "chat/toolCallReady":
		return func(o *object) { o.apply(inlineOnly, "toolInput") }
	case "chat/toolCallConfirmed":
		return func(o *object) {
			o.apply(inlineOnly, "editedToolInput")
			o.apply(message, "userSuggestion")
		}
	case "chat/toolCallComplete":
		return func(o *object) { o.apply(result, "result") }
	case "chat/toolCallContentChanged":
		return func(o *object) { o.apply(contents, "content") }
	case "chat/turnsLoaded":
		return func(o *object) { o.apply(each(turn), "turns") }
	}
	return nil
}

// filesReviewed is changeset/filesReviewChanged as 0.5.2 has it.
func filesReviewed(body jsontext.Value) jsontext.Value {
	return rewrite(body, func(o *object) {
		o.set("type", quote("changeset/filesReviewedChanged"))
		o.set("fileIds", o.take("files"))
	})
}

// toggled writes the enablement that is in effect, which is all older versions
// have.
func toggled(o *object) {
	if list := o.take("enablement"); list != nil {
		o.set("enabled", enabled(list))
	}
}

func isErrorPart(body jsontext.Value) bool {
	p, _ := jsonrpc.Member(body, "part")
	return kindOf(p) == "error"
}

func kindOf(v jsontext.Value) string {
	raw, _ := jsonrpc.Member(v, "kind")
	s, _ := jsonrpc.StringValue(raw)
	return s
}

// errorOf is the ErrorInfo of an error part.
func errorOf(part jsontext.Value) jsontext.Value {
	if e, ok := jsonrpc.Member(part, "error"); ok {
		return e
	}
	return jsontext.Value(`{"errorType":"unknown","message":"the turn failed"}`)
}
