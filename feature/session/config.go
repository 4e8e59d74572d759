package session

import (
	"bytes"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json/jsontext"
)

// setting is a value an agent must be told, and what the session had before.
type setting struct{ value, before jsontext.Value }

// configChanged passes an accepted change on to the agents of the session.
func (f *Feature) configChanged(e host.Committed, a *ahp.SessionConfigChanged) {
	before := e.Before.(*ahp.SessionState).Config.Values
	for _, d := range f.roster.of(e.Channel) {
		d.set(a.Config, before)
	}
}

// set notes values for the agent. A value that waits already is replaced: the
// agent is told the last one only, so there are never more than properties.
func (d *driver) set(values, before map[string]jsontext.Value) {
	d.mu.Lock()
	if d.agent != nil { // else it will be opened with them
		for id, v := range values {
			s := setting{value: v, before: before[id]}
			if old, ok := d.config[id]; ok {
				s.before = old.before
			}
			d.config[id] = s
		}
	}
	d.mu.Unlock()
	d.send(&d.configuring, d.configure)
}

// configure tells the agent what it must still be told, one value after the
// other. A value it did not take is put right in the session.
func (d *driver) configure() {
	for {
		a, id, s, ok := d.nextSetting()
		if !ok {
			return
		}
		var values map[string]jsontext.Value
		var err error
		if !a.call("SetConfig", func() { values, err = a.s.SetConfig(a.ctx, id, s.value) }) {
			return
		}
		if err != nil {
			d.f.log.Warn("agent refused a configuration value", "chat", d.chat, "property", id, "err", err)
			values = map[string]jsontext.Value{id: s.before}
		}
		d.correct(id, s.value, values)
	}
}

func (d *driver) nextSetting() (a *instance, id string, s setting, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.agent == nil || d.agent.s == nil {
		return nil, "", s, false
	}
	for id, s = range d.config {
		delete(d.config, id)
		return d.agent, id, s, true
	}
	return nil, "", s, false
}

// correct publishes what the agent has after it was told a value. If that has
// changed again in between, the agent hears of it next and nothing is said now.
func (d *driver) correct(id string, told jsontext.Value, values map[string]jsontext.Value) {
	d.publishIf(values, func(name string, now jsontext.Value) bool {
		return name != id || sameJSON(now, told)
	})
}

// publish puts values the agent changed by itself into the session.
func (d *driver) publish(values map[string]jsontext.Value) {
	d.publishIf(values, func(string, jsontext.Value) bool { return true })
}

// publishIf applies the values that differ from the session's and that allow
// lets through.
func (d *driver) publishIf(values map[string]jsontext.Value, allow func(name string, now jsontext.Value) bool) {
	d.f.h.Decide(d.session, func(state any) []ahp.Action {
		config := state.(*ahp.SessionState).Config
		if config == nil {
			return nil
		}
		changed := make(map[string]jsontext.Value)
		for name, v := range values {
			if now := config.Values[name]; len(v) > 0 && !sameJSON(now, v) && allow(name, now) {
				changed[name] = v
			}
		}
		if len(changed) == 0 {
			return nil
		}
		return []ahp.Action{&ahp.SessionConfigChanged{ConfigChange: ahp.ConfigChange{Config: changed}}}
	})
}

// sameJSON reports whether two values say the same, however they are written.
func sameJSON(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := a.Clone(), b.Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}
