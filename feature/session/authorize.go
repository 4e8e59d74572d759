package session

import (
	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
)

// authorize looks up the tokens the driver's agent is opened with. Whoever asked for
// it is asked for those that are missing.
func (d *driver) authorize() (map[string]*credential, error) {
	by := d.lastAsked()
	found, missing := d.f.credentials.lookUp(by, d.about.Resources)
	if len(missing) == 0 {
		return found, nil
	}
	for _, conn := range d.f.presence.connsOf(d.session, by) {
		for _, r := range missing {
			d.f.credentials.ask(conn, d.session, r.Resource, ahp.AuthReasonRequired)
		}
	}
	return nil, &agent.StartError{
		Type: "authRequired", Message: d.about.DisplayName + " needs a token for " + names(missing) + ", which the client has not brought",
	}
}

func (d *driver) lastAsked() host.Actor {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.by
}

// hasMore reports whether there is a token now of a kind that the agent has none of.
func (d *driver) hasMore(a *instance) bool {
	found, _ := d.f.credentials.lookUp(d.lastAsked(), d.about.Resources)
	for resource := range found {
		if a.with[resource] == nil {
			return true
		}
	}
	return false
}

// stale reports whether the agent has a token it must not use any more.
func (a *instance) stale() bool {
	for _, cred := range a.with {
		if cred.use.over.Load() {
			return true
		}
	}
	return false
}

// review has an agent ended that has a token it must not use, now or after its turn.
func (d *driver) review() {
	d.mu.Lock()
	a := d.agent
	d.mu.Unlock()
	if a != nil && a.stale() {
		d.send(&d.playing, d.play)
	}
}

// endStale ends such an agent. One that is being opened is reviewed after that.
func (d *driver) endStale() {
	d.mu.Lock()
	a := d.agent
	opened := a != nil && a.s != nil
	d.mu.Unlock()
	if opened && a.stale() {
		d.discard(a, endToken)
	}
}
