package compat

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// turn is a finished turn or the active one. Before 0.9 an error was no part of
// the answer but a member of the turn.
func turn(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) {
		o.apply(message, "message")
		var failure jsontext.Value
		o.apply(each(func(p jsontext.Value) jsontext.Value {
			if kindOf(p) == ahp.PartError {
				failure = errorOf(p)
				return nil
			}
			return part(p)
		}), "responseParts")
		if failure != nil && o.text("state") == ahp.TurnError {
			o.set("error", failure)
		}
	})
}

func part(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) { o.apply(toolCall, "toolCall") })
}

func pending(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) { o.apply(message, "message") })
}

func toolCall(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) {
		o.apply(inlineOnly, "toolInput")
		o.apply(contents, "content")
		o.apply(message, "userSuggestion")
	})
}

func result(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) { o.apply(contents, "content") })
}

// inlineOnly leaves out the input of a tool that is a reference, which came with
// 0.8.
func inlineOnly(v jsontext.Value) jsontext.Value {
	if v.Kind() == jsontext.KindBeginObject {
		return nil
	}
	return v
}

// contents writes what a terminal came to as an entry of its own, as 0.6 does.
func contents(v jsontext.Value) jsontext.Value {
	if v.Kind() != jsontext.KindBeginArray {
		return v
	}
	return rewriteList(v, func(entry jsontext.Value) []jsontext.Value {
		o := &object{raw: entry}
		if entry.Kind() != jsontext.KindBeginObject || o.text("type") != ahp.ContentTerminal {
			return []jsontext.Value{entry}
		}
		end := o.take("result")
		if end == nil {
			return []jsontext.Value{entry}
		}
		complete := rewrite(end, func(r *object) {
			r.set("type", quote("terminalComplete"))
			r.set("resource", o.get("resource"))
		})
		return []jsontext.Value{o.encode(), complete}
	})
}

// message: automations came with 0.8, attached chats with 0.7.
func message(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) {
		if kindOf(o.get("origin")) == "automation" {
			o.set("origin", jsontext.Value(`{"kind":"systemNotification"}`))
		}
		o.apply(each(attachment), "attachments")
	})
}

func attachment(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) {
		if o.text("type") != ahp.AttachmentChat {
			return
		}
		o.set("type", quote(ahp.AttachmentSimple))
		o.set("resource", nil)
		o.set("endTurn", nil)
	})
}
