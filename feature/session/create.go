package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// untitled is the title of a session that nobody has named.
const untitled = "New session"

// createSession creates the state and answers at once; the agent is opened in
// the background and ends the creation with session/ready or
// session/creationFailed (AHP core, 10).
func (f *Feature) createSession(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ahp.CreateSessionParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if err := checkCreate(r.Conn, &p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	provider, err := f.provider(p.Provider)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	held, err := f.credentials.required(r.Conn, provider.Describe())
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	dirs := f.directories(&p)
	// What such a session can be told is part of its state from the start, and
	// only the agent knows it.
	if slow, ok := provider.(agent.Preparer); ok && !slow.Prepared() {
		return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) {
			slow.Prepare(ctx, agent.Spec{Directories: dirs, Tokens: held})
			if err := f.makeSession(r.Conn, &p, provider, dirs); err != nil {
				return nil, err
			}
			return nil, f.h.Stored(ctx)
		}}
	}
	if err := f.makeSession(r.Conn, &p, provider, dirs); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	// A session that was promised must survive.
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) { return nil, f.h.Stored(ctx) }}
}

// makeSession makes a session that was found to be in order.
func (f *Feature) makeSession(c *host.Conn, p *ahp.CreateSessionParams, provider agent.Provider, dirs []ahp.URI) error {
	config, err := provider.ResolveConfig(f.ctx, dirs, p.Config)
	if err != nil {
		return fmt.Errorf("resolve configuration: %w", err)
	}
	state := &ahp.SessionState{
		Provider: provider.Describe().Provider, Title: untitled, Status: ahp.StatusIdle,
		WorkingDirectories: dirs, Lifecycle: ahp.LifecycleCreating,
		ActiveClients: []ahp.SessionActiveClient{}, Chats: []ahp.ChatSummary{}, Config: configState(config),
	}
	if p.ActiveClient != nil {
		state.ActiveClients = append(state.ActiveClients, *p.ActiveClient)
	}
	spec := agent.Spec{Session: p.Channel, Chat: ahp.ChatPrefix + uuid.NewString(), Directories: dirs, Config: config.Values}
	d := newDriver(f, provider, spec)
	d.asked(actorOf(c))
	if err := f.beginSession(d, state, closing(c, p.ProgressToken)); err != nil {
		d.cancel(err)
		return err
	}
	return nil
}

// beginSession makes the channel of a session and opens its agent in the
// background.
func (f *Feature) beginSession(d *driver, state *ahp.SessionState, closed func()) error {
	f.roster.births.Lock()
	defer f.roster.births.Unlock()
	if err := f.h.Create(d.session, state, ""); err != nil {
		return err
	}
	for _, c := range state.ActiveClients {
		f.presence.joined(d.session, c.ClientID)
	}
	if !f.roster.add(d) || !f.roster.start(func() { f.prepare(d); closed() }) {
		f.h.Remove(d.session)
		return errStopping
	}
	return nil
}

// closing returns what sends the one closing frame that a progress token gets.
// It goes to whoever gave the token and nobody else (AHP channels, 2.1).
func closing(c *host.Conn, token *string) func() {
	if token == nil {
		return func() {}
	}
	return func() {
		total := 1.0
		// A connection that is gone does not wait for it any more.
		_ = c.Notify(ahp.MethodProgress, ahp.ProgressParams{
			Channel: ahp.RootURI, ProgressToken: *token, Progress: total, Total: &total,
		})
	}
}

// checkCreate refuses what cannot become a session, before any side effect.
func checkCreate(c *host.Conn, p *ahp.CreateSessionParams) error {
	switch {
	case !chosenURI(p.Channel, ahp.KindSession, ahp.SessionPrefix):
		return invalidParams("channel must be %s<uuid>", ahp.SessionPrefix)
	case len(p.Repositories) > 0:
		return invalidParams("this host does not prepare repositories")
	case p.ActiveClient != nil && p.ActiveClient.ClientID != c.ClientID():
		return invalidParams("activeClient.clientId must be the caller's")
	}
	return nil
}

// directories are the working directories a session asked for, in either form.
func (f *Feature) directories(p *ahp.CreateSessionParams) []ahp.URI {
	switch {
	case len(p.WorkingDirectories) > 0:
		return p.WorkingDirectories
	case p.WorkingDirectory != nil:
		return []ahp.URI{*p.WorkingDirectory}
	case f.opts.DefaultDirectory != "":
		return []ahp.URI{f.opts.DefaultDirectory}
	}
	return nil
}

func configState(c agent.Config) *ahp.ConfigState {
	if len(c.Schema.Properties) == 0 {
		return nil
	}
	schema, err := ahp.Marshal(c.Schema)
	if err != nil {
		return nil
	}
	values := c.Values
	if values == nil {
		values = map[string]jsontext.Value{}
	}
	return &ahp.ConfigState{Schema: schema, Values: values}
}

// prepare opens the agent of a new session and announces its default chat.
func (f *Feature) prepare(d *driver) {
	_, err := d.open()
	if err = f.announce(d, err); err != nil {
		f.log.Warn("session creation failed", "session", d.session, "err", err)
		<-f.roster.dismiss(d)
	}
}

// announce ends the creation of a session, unless the session is gone.
func (f *Feature) announce(d *driver, err error) error {
	f.roster.births.Lock()
	defer f.roster.births.Unlock()
	if !f.roster.has(d) {
		return errors.Join(errDisposed, err)
	}
	if err == nil {
		err = f.h.Create(d.chat, d.firstState(), d.session)
	}
	if err != nil {
		f.h.Apply(d.session, &ahp.SessionCreationFailed{Error: *startInfo(err)})
		return err
	}
	d.noteAgent()
	f.h.Apply(d.session, &ahp.SessionDefaultChatChanged{DefaultChat: &d.chat})
	f.h.Apply(d.session, &ahp.SessionReady{})
	return nil
}

// errDisposed is why an agent that was just opened has no chat.
var errDisposed = errors.New("the session was disposed of")

// firstState is what the driver's chat begins with.
func (d *driver) firstState() *ahp.ChatState {
	s := &ahp.ChatState{ChatHeader: &ahp.ChatHeader{ChatInfo: ahp.ChatInfo{
		Resource: d.chat, Title: "Chat", Status: ahp.StatusIdle, ModifiedAt: host.Now(),
		Origin: &ahp.ChatOrigin{Kind: ahp.ChatOriginUser}, WorkingDirectories: d.spec.Directories,
	}}}
	s.Turns = ahp.NewList[*ahp.Turn]()
	return s
}

// startInfo is what clients see of a failed start.
func startInfo(err error) *ahp.ErrorInfo {
	var start *agent.StartError
	if errors.As(err, &start) {
		return &ahp.ErrorInfo{ErrorType: start.Type, Message: start.Message}
	}
	var wire *ahp.Error
	if errors.As(err, &wire) {
		return &ahp.ErrorInfo{ErrorType: "creationFailed", Message: wire.Message}
	}
	return &ahp.ErrorInfo{ErrorType: "agentStartFailed", Message: "the agent could not be started; the host's log says why"}
}

// disposeSession ends a session with its chats and their agents. The answer
// comes when the agents have ended.
func (f *Feature) disposeSession(_ context.Context, r *host.Request) jsonrpc.Reply {
	if ahp.KindOf(r.Channel) != ahp.KindSession {
		return jsonrpc.Reply{Err: invalidParams("channel must be a session")}
	}
	f.roster.births.Lock()
	defer f.roster.births.Unlock()
	s, _ := f.h.State(r.Channel).(*ahp.SessionState)
	if !f.h.Remove(r.Channel) {
		return jsonrpc.Reply{Err: ahp.ErrSessionNotFound}
	}
	f.presence.disposed(r.Channel, s)
	return answer(f.roster.dismiss(f.roster.of(r.Channel)...), done)
}

// answer answers with what outcome returns as soon as done is closed. The work
// itself does not depend on the request: it may be cancelled, or never be
// answered because the connection is gone.
func answer(done <-chan struct{}, outcome func() error) jsonrpc.Reply {
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) {
		select {
		case <-done:
			return nil, outcome()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
}

// done is the outcome of what cannot fail.
func done() error { return nil }
