package session

import (
	"bytes"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// What agents tell besides their turns: what stands in the session's _meta, the
// models of their kind, the commands they understand.

// annotate puts what an agent tells under its own name into the session's _meta.
func (d *driver) annotate(e agent.Meta) {
	d.f.h.Decide(d.session, func(state any) []ahp.Action {
		now := state.(*ahp.SessionState).Meta
		next := withMember(now, e.Name, e.Value)
		if bytes.Equal(now, next) {
			return nil
		}
		a := &ahp.SessionMetaChanged{}
		a.Meta = next
		return []ahp.Action{a}
	})
}

// withMember is an object with one member set, or taken out when value is empty.
// The other members keep their order.
func withMember(obj jsontext.Value, name string, value jsontext.Value) jsontext.Value {
	out := jsontext.Value("{")
	add := func(name string, value jsontext.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name) // an ill-formed name is quoted all the same
		out = append(append(out, ':'), value...)
	}
	found := false
	jsonrpc.EachMember(obj, func(n []byte, v jsontext.Value) bool {
		if string(n) != name {
			add(string(n), v)
		} else if found = true; len(value) > 0 {
			add(name, value)
		}
		return true
	})
	if !found && len(value) > 0 {
		add(name, value)
	}
	return append(out, '}')
}

// offer tells everybody the models of a provider.
func (f *Feature) offer(provider string, models []ahp.SessionModelInfo) {
	f.h.Decide(ahp.RootURI, func(state any) []ahp.Action {
		agents := append([]ahp.AgentInfo(nil), state.(*ahp.RootState).Agents...)
		for i := range agents {
			if agents[i].Provider == provider && !sameModels(agents[i].Models, models) {
				agents[i].Models = models
				return []ahp.Action{&ahp.RootAgentsChanged{Agents: agents}}
			}
		}
		return nil
	})
}

func sameModels(a, b []ahp.SessionModelInfo) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].ID != b[i].ID || a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

// learn notes the commands of the agent, for whoever asks for completions.
func (d *driver) learn(commands []agent.Command) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commands = commands
}

// breakPart ends the part that text goes to.
func (d *driver) breakPart(turnID string) {
	d.emitting.Lock()
	defer d.emitting.Unlock()
	if t := d.active(turnID); t != nil {
		t.parts.interrupt()
	}
}
