package compat

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// Dispatched reads an action that a client of the dialect dispatched, and writes
// it in the canonical form.
func (d Dialect) Dispatched(body jsontext.Value) jsontext.Value {
	if !d.before07() {
		return body
	}
	raw, _ := jsonrpc.Member(body, "type")
	switch name, _ := jsonrpc.StringValue(raw); name {
	case "session/customizationToggled":
		return rewrite(body, func(o *object) {
			if v := o.take("enabled"); v != nil {
				o.set("enablement", jsontext.Value(`[{"kind":"session","enabled":`+string(v)+`}]`))
			}
		})
	case "changeset/filesReviewedChanged":
		return rewrite(body, func(o *object) {
			o.set("type", quote("changeset/filesReviewChanged"))
			o.set("files", o.take("fileIds"))
		})
	case "chat/toolCallComplete":
		return rewrite(body, func(o *object) { o.apply(modernResult, "result") })
	case "chat/toolCallContentChanged":
		return rewrite(body, func(o *object) { o.apply(modernContents, "content") })
	}
	return body
}

// Params reads the params of a request in the dialect. The error is what the
// client is answered.
func (d Dialect) Params(method string, params jsontext.Value) (jsontext.Value, error) {
	if !d.before07() {
		return params, nil
	}
	switch method {
	case ahp.MethodCreateSession:
		if _, forks := jsonrpc.Member(params, "fork"); forks {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "createSession cannot fork: create a chat with a source instead")
		}
		return rewrite(params, manyDirectories), nil
	case ahp.MethodResolveSessionConfig, ahp.MethodSessionConfigCompletions:
		return rewrite(params, manyDirectories), nil
	case ahp.MethodCreateChat:
		return rewrite(params, func(o *object) { o.apply(forkSource, "source") }), nil
	}
	return params, nil
}

func manyDirectories(o *object) {
	if dir := o.take("workingDirectory"); dir != nil && o.get("workingDirectories") == nil {
		o.set("workingDirectories", jsontext.Value("["+string(dir)+"]"))
	}
}

// forkSource: a fork was the only source before 0.7.
func forkSource(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) {
		if o.get("kind") == nil {
			o.set("kind", quote(ahp.ChatOriginFork))
		}
	})
}

func modernResult(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) { o.apply(modernContents, "content") })
}

// modernContents gives what a terminal came to back to its terminal.
func modernContents(v jsontext.Value) jsontext.Value {
	if v.Kind() != jsontext.KindBeginArray {
		return v
	}
	ends := make(map[string]jsontext.Value)
	for entry := range entries(v) {
		o := &object{raw: entry}
		if o.text("type") != "terminalComplete" {
			continue
		}
		resource := o.text("resource")
		o.set("type", nil)
		o.set("resource", nil)
		o.set("cwd", nil)
		ends[resource] = o.encode()
	}
	if len(ends) == 0 {
		return v
	}
	return rewriteList(v, func(entry jsontext.Value) []jsontext.Value {
		o := &object{raw: entry}
		switch end := ends[o.text("resource")]; o.text("type") {
		case ahp.ContentTerminal:
			if end != nil {
				o.set("result", end)
				delete(ends, o.text("resource"))
			}
			return []jsontext.Value{o.encode()}
		case "terminalComplete":
			return nil // with its terminal; one without says nothing that can be shown
		}
		return []jsontext.Value{entry}
	})
}
