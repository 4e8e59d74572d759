package acp

import (
	"context"
	"slices"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// HandleNotification implements jsonrpc.Handler. It runs on the reader.
func (s *session) HandleNotification(_ context.Context, m *jsonrpc.Message) {
	if m.Method != methodUpdate {
		return // unknown notifications are ignored (agents.md, 1.1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mine(m.Params) {
		return
	}
	u, _ := jsonrpc.Member(m.Params, "update")
	raw, _ := jsonrpc.Member(u, "sessionUpdate")
	kind, _ := jsonrpc.StringBytes(raw)
	if err := s.apply(string(kind), u); err != nil {
		s.stats.malformed.Add(1)
		s.log.Debug("agent sent an update that cannot be read", "kind", string(kind), "err", err)
	}
}

// heard notes that the agent lives.
func (s *session) heard() {
	s.lastHeard.Store(time.Now().UnixNano())
}

// mine reports whether params name the agent's session. Before its id is known
// any will do: agents send updates along with the answer that tells it.
func (s *session) mine(params jsontext.Value) bool {
	raw, _ := jsonrpc.Member(params, "sessionId")
	id, _ := jsonrpc.StringBytes(raw)
	if s.id == "" || string(id) == s.id {
		return true
	}
	if s.stats.foreign.Add(1) == 1 {
		s.log.Warn("agent speaks of a session that is not its own")
	}
	return false
}

// live returns the turn that updates belong to, nil when they come outside of one
// or after it was cancelled: they are dropped then.
func (s *session) live() *turn {
	if t := s.turn; t != nil && t.live() {
		if s.doing == stalled {
			s.activity("")
		}
		return t
	}
	if !s.loading {
		s.stats.outside.Add(1)
	}
	return nil
}

// apply acts on an update. The lock is held.
func (s *session) apply(kind string, u jsontext.Value) error {
	switch kind {
	case "agent_message_chunk", "agent_thought_chunk":
		s.replayed.interrupt()
		if t := s.live(); t != nil {
			return t.chunk(u, kind == "agent_thought_chunk")
		}
	case "user_message_chunk":
		if s.loading {
			s.replayed.userMessage(u)
		}
	case "tool_call", "tool_call_update":
		s.replayed.interrupt()
		return s.toolCall(u, kind == "tool_call")
	case "plan":
		return s.planUpdate(u)
	case "usage_update":
		s.usage(u)
	default:
		return s.applyToSession(kind, u)
	}
	return nil
}

// applyToSession acts on what belongs to the session, in a turn or not.
func (s *session) applyToSession(kind string, u jsontext.Value) error {
	switch kind {
	case "session_info_update":
		raw, _ := jsonrpc.Member(u, "title")
		if title, ok := jsonrpc.StringValue(raw); ok && title != "" {
			s.title = oneLine(title)
			s.tell(agent.Title{Title: s.title})
		}
	case "current_mode_update":
		raw, _ := jsonrpc.Member(u, "currentModeId")
		if s.options.set(modeOption, raw) {
			s.tell(agent.ConfigValues{Values: map[string]jsontext.Value{modeOption: raw}})
		}
	case "config_option_update":
		var p struct {
			ConfigOptions []configOption `json:"configOptions"`
		}
		if err := decode(u, &p); err != nil {
			return err
		}
		s.adoptOptions(p.ConfigOptions)
	case "available_commands_update":
		return s.commandsUpdate(u)
	default:
		s.stats.unknown.Add(1)
		s.log.Debug("agent sent an update of an unknown kind", "kind", oneLine(kind))
	}
	return nil
}

// chunk relays a piece of the answer or of the thinking.
func (t *turn) chunk(u jsontext.Value, thought bool) error {
	raw, _ := jsonrpc.Member(u, "content")
	id, _ := jsonrpc.Member(u, "messageId")
	messageID, _ := jsonrpc.StringValue(id)
	kind, _ := jsonrpc.Member(raw, "type")
	if name, _ := jsonrpc.StringBytes(kind); string(name) == blockText { // nearly all of them
		text, _ := jsonrpc.Member(raw, "text")
		if piece, ok := jsonrpc.StringValue(text); ok {
			t.say(messageID, piece, thought)
		}
		return nil
	}
	var b contentBlock
	if err := decode(raw, &b); err != nil {
		return err
	}
	t.answerContent(&b)
	return nil
}

func (s *session) toolCall(u jsontext.Value, announced bool) error {
	t := s.live()
	if t == nil {
		return nil
	}
	var c toolUpdate
	if err := decode(u, &c); err != nil {
		return err
	}
	t.update(&c, announced)
	return nil
}

func (s *session) planUpdate(u jsontext.Value) error {
	t := s.live()
	if t == nil {
		return nil
	}
	var p struct {
		Entries []planEntry `json:"entries"`
	}
	if err := decode(u, &p); err != nil {
		return err
	}
	raw, _ := jsonrpc.Member(u, "entries")
	t.replan(p.Entries, raw)
	return nil
}

// usage tells how full the context is: of the turn that runs, or of the session.
// That is no count of input tokens (agents.md, 4.1).
func (s *session) usage(u jsontext.Value) {
	var told jsontext.Value
	for _, name := range []string{"used", "size", "cost"} {
		if v, ok := jsonrpc.Member(u, name); ok && len(v) < maxLabelBytes {
			m := object(name, v)
			if told != nil {
				m = append(append(told[:len(told)-1], ','), m[1:]...)
			}
			told = m
		}
	}
	if told == nil {
		return
	}
	if t := s.turn; t != nil && t.live() {
		t.usage = &ahp.UsageInfo{Meta: object("acp", told)}
		t.emit(agent.Usage{TurnID: t.id, Usage: t.usage})
		return
	}
	s.tell(agent.Meta{Name: "acp.usage", Value: told})
}

// maxCommands bounds what is kept of the commands an agent lists.
const maxCommands = 500

func (s *session) commandsUpdate(u jsontext.Value) error {
	var p struct {
		AvailableCommands []availableCommand `json:"availableCommands"`
	}
	if err := decode(u, &p); err != nil {
		return err
	}
	list := make([]agent.Command, 0, len(p.AvailableCommands))
	for _, c := range p.AvailableCommands[:min(len(p.AvailableCommands), maxCommands)] {
		command := agent.Command{Name: oneLine(c.Name), Description: oneLine(c.Description)}
		if c.Input != nil {
			command.Hint = oneLine(c.Input.Hint)
		}
		list = append(list, command)
	}
	s.commands = slices.Clip(list)
	s.tell(agent.Commands{Commands: s.commands})
	return nil
}

// replay counts the messages of the user in a conversation that an agent repeats.
type replay struct {
	messages int
	inside   bool // the chunk before was one of the user's
	id       string
}

func (r *replay) interrupt() { r.inside = false }

func (r *replay) userMessage(u jsontext.Value) {
	raw, _ := jsonrpc.Member(u, "messageId")
	id, _ := jsonrpc.StringValue(raw)
	if !r.inside || id != r.id {
		r.messages++
	}
	r.inside, r.id = true, id
}
