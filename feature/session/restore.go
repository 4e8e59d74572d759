package session

import (
	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// After a restart sessions and chats are there without drivers. What was under
// way ended with the process that had it; it is closed before anybody looks. A
// driver is made when a chat is used again.

// chatOpen reports whether a chat has what ends with the process.
func chatOpen(state any) bool {
	s := state.(*ahp.ChatState)
	return s.ActiveTurn != nil || s.Activity != nil
}

// sessionOpen reports whether a session has: a creation, or active clients.
func sessionOpen(state any) bool {
	s := state.(*ahp.SessionState)
	return s.Lifecycle == ahp.LifecycleCreating || len(s.ActiveClients) > 0
}

// interrupted is the error of a turn whose host ended.
var interrupted = ahp.ErrorInfo{
	ErrorType: "hostRestarted",
	Message:   "The host ended in the middle of this turn. What had not been shown by then is not known; nothing was started again.",
}

// closeOpen closes what an earlier process left open. Queued messages stay
// queued.
func (f *Feature) closeOpen() {
	for _, uri := range f.h.Unfinished(ahp.KindChat) {
		f.h.Decide(uri, func(state any) (list []ahp.Action) {
			s := state.(*ahp.ChatState)
			if s.Activity != nil {
				list = append(list, &ahp.ChatActivityChanged{})
			}
			if s.ActiveTurn != nil {
				part := ahp.ResponsePart{Part: &ahp.ErrorPart{Error: interrupted}}
				list = append(list, &ahp.ChatError{TurnID: s.ActiveTurn.ID, Part: part})
			}
			return list
		})
	}
	for _, uri := range f.h.Unfinished(ahp.KindSession) {
		f.h.Decide(uri, func(state any) []ahp.Action {
			if state.(*ahp.SessionState).Lifecycle != ahp.LifecycleCreating {
				return nil
			}
			return []ahp.Action{&ahp.SessionCreationFailed{Error: ahp.ErrorInfo{
				ErrorType: interrupted.ErrorType, Message: "The host ended while the session was being created.",
			}}}
		})
		f.presence.restored(uri)
	}
}

// restored gives the active clients of a session of an earlier process the time
// to return that a lost one has.
func (p *presence) restored(session ahp.URI) {
	s, ok := p.f.h.State(session).(*ahp.SessionState)
	if !ok {
		return
	}
	for _, c := range s.ActiveClients {
		p.joined(session, c.ClientID)
		p.await(c.ClientID)
	}
}

// driverOf returns the driver of a chat, held against being retired, and makes
// one for a chat that has none. It is nil when the chat is gone or the host is
// stopping, and when nobody provides its agent any more; its turn then ends.
func (f *Feature) driverOf(chat ahp.URI) *driver {
	for {
		d := f.roster.chat(chat)
		if d == nil {
			if d = f.revive(chat); d == nil {
				return nil
			}
		}
		if d.hold() {
			return d
		}
	}
}

// revive makes the driver of a chat that has none.
func (f *Feature) revive(chat ahp.URI) *driver {
	s, ok := f.h.State(chat).(*ahp.ChatState)
	session, _ := f.h.State(f.h.Parent(chat)).(*ahp.SessionState)
	if !ok || session == nil {
		return nil
	}
	provider := f.providers[session.Provider]
	if provider == nil {
		f.orphaned(chat, session.Provider)
		return nil
	}
	spec := agent.Spec{
		Session: f.h.Parent(chat), Chat: chat, Directories: s.WorkingDirectories, ResumeToken: f.h.Note(chat, resumeNote),
	}
	if spec.Directories == nil {
		spec.Directories = session.WorkingDirectories
	}
	d := newDriver(f, provider, spec)
	d.noted = string(spec.ResumeToken)
	f.roster.births.Lock()
	defer f.roster.births.Unlock()
	if now := f.roster.chat(chat); now != nil {
		d.cancel(errStopping)
		return now
	}
	if !f.h.Exists(chat) || !f.roster.add(d) {
		d.cancel(errStopping)
		return nil
	}
	return d
}

// orphaned ends the turn of a chat whose agent is not on offer any more.
func (f *Feature) orphaned(chat ahp.URI, provider string) {
	f.h.Decide(chat, func(state any) []ahp.Action {
		s := state.(*ahp.ChatState)
		if s.ActiveTurn == nil {
			return nil
		}
		part := ahp.ResponsePart{Part: &ahp.ErrorPart{Error: ahp.ErrorInfo{
			ErrorType: "agentNotFound", Message: "This host does not offer the agent " + provider + " any more.",
		}}}
		return []ahp.Action{&ahp.ChatError{TurnID: s.ActiveTurn.ID, Part: part}}
	})
}

// hold keeps the driver from being retired until letLoose; it is false when it
// has been.
func (d *driver) hold() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.retired {
		return false
	}
	d.held++
	return true
}

func (d *driver) letLoose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held--
}

// release implements host.Scheme.Release for chats: an idle agent is ended with
// its driver. It is false until that is done.
func (f *Feature) release(chat ahp.URI) bool {
	d := f.roster.chat(chat)
	if d == nil {
		return true
	}
	f.roster.births.Lock()
	defer f.roster.births.Unlock()
	if d.retire() {
		f.roster.dismiss(d)
	}
	return false
}

// retire lets a driver do nothing more, if it does nothing now.
func (d *driver) retire() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	opening := d.agent != nil && d.agent.s == nil
	if d.held > 0 || d.current != nil || opening || d.playing.running || d.steering.running || d.configuring.running {
		return false
	}
	d.retired = true
	return true
}

// resumeNote names what an agent needs to be opened where it was.
const resumeNote = "agent.resume"

// noteToken writes down what the agent says it needs to go on after a restart.
func (d *driver) noteToken(s agent.Session) {
	var token []byte
	if !d.contain("ResumeToken", func() { token = s.ResumeToken() }) || string(token) == d.lastNoted() {
		return
	}
	if d.f.h.SetNote(d.chat, resumeNote, token) {
		d.mu.Lock()
		d.noted = string(token)
		d.mu.Unlock()
	}
}

// noteAgent does so for the agent there is: before its chat existed there was
// nothing to write to.
func (d *driver) noteAgent() {
	d.mu.Lock()
	a := d.agent
	var s agent.Session
	if a != nil {
		s = a.s
	}
	d.mu.Unlock()
	if s != nil {
		d.noteToken(s)
	}
}

func (d *driver) lastNoted() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.noted
}
