package compat

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// State writes the canonical state of a channel in the dialect.
func (d Dialect) State(kind ahp.Kind, state jsontext.Value) jsontext.Value {
	if d == Canonical {
		return state
	}
	if kind == ahp.KindChangeset {
		return rewrite(state, func(o *object) { o.apply(changesetStatus, "status") })
	}
	if !d.before07() {
		return state
	}
	switch kind {
	case ahp.KindRoot:
		return rewrite(state, func(o *object) {
			o.apply(each(agent), "agents")
			o.apply(each(terminal), "terminals")
		})
	case ahp.KindSession:
		return rewrite(state, session)
	case ahp.KindChat:
		return rewrite(state, chat)
	case ahp.KindTerminal:
		return terminal(state)
	case ahp.KindAnnotations:
		return rewrite(state, func(o *object) { o.apply(each(annotation), "annotations") })
	}
	return state
}

// Summary writes a session's summary, or a part of it, in the dialect.
func (d Dialect) Summary(summary jsontext.Value) jsontext.Value {
	if !d.before07() {
		return summary
	}
	return rewrite(summary, directories)
}

func session(o *object) {
	directories(o)
	if o.text("lifecycle") == ahp.LifecycleFailed {
		o.set("lifecycle", quote("creationFailed"))
	}
	o.apply(each(customization), "customizations")
	o.apply(each(activeClient), "activeClients")
	o.apply(each(chatInfo), "chats")
	o.apply(each(inputNeeded), "inputNeeded")
}

func chat(o *object) {
	chatMembers(o)
	o.apply(each(turn), "turns")
	o.apply(turn, "activeTurn")
	o.apply(message, "draft")
	o.apply(pending, "steeringMessage")
	o.apply(each(pending), "queuedMessages")
}

// chatInfo is a chat's entry in its session, or a part of it.
func chatInfo(v jsontext.Value) jsontext.Value { return rewrite(v, chatMembers) }

func chatMembers(o *object) {
	directories(o)
	if kindOf(o.get("origin")) == ahp.ChatOriginSideChat {
		o.set("origin", nil)
	}
}

// directories puts the first directory where older versions have their only one.
func directories(o *object) {
	list := o.take("workingDirectories")
	for first := range entries(list) {
		o.set("workingDirectory", first)
		return
	}
}

// changesetStatus: recomputing came with 1.0.
func changesetStatus(v jsontext.Value) jsontext.Value {
	if string(v) == `"`+ahp.ChangesetRecomputing+`"` {
		return quote(ahp.ChangesetComputing)
	}
	return v
}

// terminal is a terminal's state, or its entry in the root: the exit code stood
// by itself before 0.9.
func terminal(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) {
		rewrite(o.take("lifecycle"), func(l *object) { o.set("exitCode", l.get("exitCode")) })
	})
}

func agent(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) { o.apply(each(customization), "customizations") })
}

func activeClient(v jsontext.Value) jsontext.Value { return agent(v) }

// customization: plugins and MCP servers were simply enabled or not before 0.9.
func customization(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) {
		o.apply(each(customization), "children")
		if t := o.text("type"); t != ahp.CustomizationPlugin && t != ahp.CustomizationMCPServer {
			return
		}
		list := o.take("enablement")
		if o.get("enabled") == nil {
			o.set("enabled", enabled(list))
		}
		o.set("childEnablement", nil)
	})
}

// enabled is what a list of enablements comes to: its first entry, else true.
func enabled(list jsontext.Value) jsontext.Value {
	for first := range entries(list) {
		effective := jsontext.Value("true")
		rewrite(first, func(o *object) {
			if v := o.get("enabled"); v != nil {
				effective = v
			}
		})
		return effective
	}
	return jsontext.Value("true")
}

func inputNeeded(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) { o.apply(toolCall, "toolCall") })
}

// annotation: before 0.9 the anchor was a turn.
func annotation(v jsontext.Value) jsontext.Value {
	return rewrite(v, func(o *object) {
		anchor(o)
		if o.get("turnId") == nil {
			o.set("turnId", quote(""))
		}
	})
}

func anchor(o *object) {
	rewrite(o.take("origin"), func(origin *object) {
		if id := origin.get("turnId"); id != nil {
			o.set("turnId", id)
		}
	})
}
