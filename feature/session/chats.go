package session

import (
	"context"
	"errors"
	"slices"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/google/uuid"
)

// createChat adds a chat to a session whose agent can have several. The work is
// the feature's: it goes on when the connection is lost.
func (f *Feature) createChat(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ahp.CreateChatParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	s, err := f.session(p.Channel)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if err := checkChat(&p, s); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	provider := f.providers[s.Provider]
	if provider == nil || !provider.Describe().MultipleChats {
		return jsonrpc.Reply{Err: invalidParams("the agent has one chat per session")}
	}
	if _, err := f.credentials.required(r.Conn, provider.Describe()); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	spec := agent.Spec{Session: p.Channel, Chat: p.Chat, Directories: s.WorkingDirectories}
	if p.WorkingDirectories != nil {
		spec.Directories = p.WorkingDirectories
	}
	d := newDriver(f, provider, spec)
	d.asked(actorOf(r.Conn))
	if err := f.enrol(d); err != nil {
		d.cancel(err)
		return jsonrpc.Reply{Err: err}
	}
	var outcome error
	added := make(chan struct{})
	if !f.roster.start(func() { defer close(added); outcome = f.addChat(d, p.InitialMessage) }) {
		return jsonrpc.Reply{Err: errStopping}
	}
	return answer(added, func() error { return outcome })
}

// session returns the state of a session. One that cannot be read is not taken
// for one that does not exist.
func (f *Feature) session(uri ahp.URI) (*ahp.SessionState, error) {
	state, err := f.h.Load(uri)
	if s, ok := state.(*ahp.SessionState); ok {
		return s, nil
	}
	if err == nil || errors.Is(err, ahp.ErrNotFound) {
		return nil, ahp.ErrSessionNotFound
	}
	return nil, err
}

// checkChat refuses what cannot become a chat, before any side effect.
func checkChat(p *ahp.CreateChatParams, s *ahp.SessionState) error {
	switch {
	case !chosenURI(p.Chat, ahp.KindChat, ahp.ChatPrefix):
		return invalidParams("chat must be %s<uuid>", ahp.ChatPrefix)
	case s.Lifecycle != ahp.LifecycleReady:
		return invalidParams("the session is not ready")
	case p.Source != nil:
		return invalidParams("the agent cannot start a chat from another one")
	}
	for _, dir := range p.WorkingDirectories {
		if !slices.Contains(s.WorkingDirectories, dir) {
			return invalidParams("workingDirectories must be among the session's")
		}
	}
	if p.InitialMessage != nil {
		if reason := validateMessage(p.InitialMessage); reason != "" {
			return invalidParams("initialMessage: %s", reason)
		}
	}
	return nil
}

// enrol registers the driver of a chat to come.
func (f *Feature) enrol(d *driver) error {
	f.roster.births.Lock()
	defer f.roster.births.Unlock()
	switch {
	case !f.h.Exists(d.session):
		return ahp.ErrSessionNotFound
	case f.h.Exists(d.chat) || f.roster.chat(d.chat) != nil:
		return ahp.ErrAlreadyExists
	case !f.roster.add(d):
		return errStopping
	}
	return nil
}

// addChat opens the agent and creates the chat.
func (f *Feature) addChat(d *driver, initial *ahp.Message) error {
	_, err := d.open()
	if err = f.reveal(d, err); err != nil {
		<-f.roster.dismiss(d)
		f.log.Warn("chat creation failed", "chat", d.chat, "err", err)
		return chatError(err)
	}
	if initial != nil {
		d.begin(uuid.NewString(), initial)
	}
	return nil
}

// reveal creates the chat, unless its session is gone.
func (f *Feature) reveal(d *driver, err error) error {
	f.roster.births.Lock()
	defer f.roster.births.Unlock()
	switch {
	case !f.roster.has(d):
		return ahp.ErrSessionNotFound
	case err != nil:
		return err
	}
	err = f.h.Create(d.chat, d.firstState(), d.session)
	if err == nil {
		d.noteAgent()
	}
	return err
}

// chatError is what a client sees of a chat that could not be made.
func chatError(err error) error {
	var wire *ahp.Error
	if errors.As(err, &wire) {
		return wire
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", startInfo(err).Message)
}

// disposeChat ends a chat. The answer comes when its agent has ended.
func (f *Feature) disposeChat(_ context.Context, r *host.Request) jsonrpc.Reply {
	if ahp.KindOf(r.Channel) != ahp.KindChat {
		return jsonrpc.Reply{Err: invalidParams("channel must be a chat")}
	}
	f.roster.births.Lock()
	defer f.roster.births.Unlock()
	if !f.h.Remove(r.Channel) {
		return jsonrpc.Reply{Err: ahp.ErrNotFound}
	}
	var gone []*driver
	if d := f.roster.chat(r.Channel); d != nil {
		gone = append(gone, d)
	}
	return answer(f.roster.dismiss(gone...), done)
}
