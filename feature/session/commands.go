package session

import (
	"context"
	"errors"
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

func invalidParams(format string, args ...any) jsonrpc.Reply {
	return jsonrpc.Reply{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)}
}

// maxURI bounds a URI a client chooses, in bytes.
const maxURI = 512

func chosenURI(uri ahp.URI, kind ahp.Kind, prefix string) bool {
	return ahp.KindOf(uri) == kind && len(uri) > len(prefix) && len(uri) <= maxURI
}

// createSession creates the state and answers at once; the agent is opened in
// the background and ends the creation with session/ready or
// session/creationFailed (AHP core, 10).
func (f *Feature) createSession(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ahp.CreateSessionParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	provider, bad := f.checkCreate(r.Conn, &p)
	if bad != nil {
		return *bad
	}
	dirs := f.directories(&p)
	config, err := provider.ResolveConfig(f.ctx, dirs, p.Config)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	state := &ahp.SessionState{
		Provider: provider.Describe().Provider, Title: "New session", Status: ahp.StatusIdle,
		WorkingDirectories: dirs, Lifecycle: ahp.LifecycleCreating,
		ActiveClients: []ahp.SessionActiveClient{}, Chats: []ahp.ChatSummary{}, Config: configState(config),
	}
	if p.ActiveClient != nil {
		state.ActiveClients = append(state.ActiveClients, *p.ActiveClient)
	}
	if err := f.h.Create(p.Channel, state, ""); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	spec := agent.Spec{Session: p.Channel, Directories: dirs, Config: config.Values}
	if !f.start(func() { f.prepare(provider, spec, p.ProgressToken) }) {
		f.h.Remove(p.Channel)
		return jsonrpc.Reply{Err: errStopping}
	}
	return jsonrpc.Reply{}
}

// checkCreate refuses what cannot become a session, before any side effect.
func (f *Feature) checkCreate(c *host.Conn, p *ahp.CreateSessionParams) (agent.Provider, *jsonrpc.Reply) {
	refuse := func(r jsonrpc.Reply) (agent.Provider, *jsonrpc.Reply) { return nil, &r }
	switch {
	case !chosenURI(p.Channel, ahp.KindSession, ahp.SessionPrefix):
		return refuse(invalidParams("channel must be %s<uuid>", ahp.SessionPrefix))
	case len(p.Repositories) > 0:
		return refuse(invalidParams("this host does not prepare repositories"))
	case p.ActiveClient != nil && p.ActiveClient.ClientID != c.ClientID():
		return refuse(invalidParams("activeClient.clientId must be the caller's"))
	}
	provider := f.opts.Providers[0]
	if p.Provider != nil {
		if provider = f.providers[*p.Provider]; provider == nil {
			return refuse(jsonrpc.Reply{Err: ahp.ErrProviderNotFound})
		}
	}
	return provider, nil
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
func (f *Feature) prepare(p agent.Provider, spec agent.Spec, progress *string) {
	spec.Chat = ahp.ChatPrefix + uuid.NewString()
	err := f.openChat(p, spec, nil)
	if err != nil {
		f.log.Warn("session creation failed", "session", spec.Session, "err", err)
		f.h.Apply(spec.Session, &ahp.SessionCreationFailed{Error: *startInfo(err)})
	} else {
		f.h.Apply(spec.Session, &ahp.SessionDefaultChatChanged{DefaultChat: &spec.Chat})
		f.h.Apply(spec.Session, &ahp.SessionReady{})
	}
	if progress != nil { // a token gets exactly one closing frame
		total := 1.0
		f.h.Notify(ahp.RootURI, ahp.MethodProgress, ahp.ProgressParams{
			Channel: ahp.RootURI, ProgressToken: *progress, Progress: total, Total: &total,
		})
	}
}

// openChat opens an agent and creates its chat in the session.
func (f *Feature) openChat(p agent.Provider, spec agent.Spec, origin *ahp.ChatOrigin) error {
	d := newDriver(f, p, spec)
	if err := d.open(); err != nil {
		return err
	}
	if origin == nil {
		origin = &ahp.ChatOrigin{Kind: ahp.ChatOriginUser}
	}
	state := &ahp.ChatState{ChatInfo: &ahp.ChatInfo{
		Resource: spec.Chat, Title: "Chat", Status: ahp.StatusIdle, ModifiedAt: host.Now(), Origin: origin,
		WorkingDirectories: spec.Directories,
	}}
	state.Turns = ahp.NewList[*ahp.Turn]()
	// The driver is there before the chat can be seen, so that no effect misses it.
	if !f.addDriver(d) {
		d.close()
		return errStopping
	}
	if err := f.h.Create(spec.Chat, state, spec.Session); err != nil {
		f.removeDriver(spec.Chat)
		d.close()
		return err
	}
	return nil
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

// disposeSession ends a session with its chats and their agents.
func (f *Feature) disposeSession(_ context.Context, r *host.Request) jsonrpc.Reply {
	if ahp.KindOf(r.Channel) != ahp.KindSession {
		return invalidParams("channel must be a session")
	}
	chats := f.h.Children(r.Channel)
	if !f.h.Remove(r.Channel) {
		return jsonrpc.Reply{Err: ahp.ErrSessionNotFound}
	}
	return jsonrpc.Reply{Later: func(context.Context) (any, error) {
		for _, chat := range chats {
			f.endChat(chat)
		}
		return nil, nil
	}}
}

func (f *Feature) endChat(chat ahp.URI) {
	if d := f.removeDriver(chat); d != nil {
		d.close()
	}
}

// createChat adds a chat to a session whose agent can have several.
func (f *Feature) createChat(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ahp.CreateChatParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	s, ok := f.h.State(p.Channel).(*ahp.SessionState)
	switch {
	case !ok:
		return jsonrpc.Reply{Err: ahp.ErrSessionNotFound}
	case !chosenURI(p.Chat, ahp.KindChat, ahp.ChatPrefix):
		return invalidParams("chat must be %s<uuid>", ahp.ChatPrefix)
	case s.Lifecycle != ahp.LifecycleReady:
		return invalidParams("the session is not ready")
	case p.Source != nil:
		return invalidParams("the agent cannot start a chat from another one")
	case p.InitialMessage != nil && p.InitialMessage.Origin.Kind != ahp.OriginUser:
		return invalidParams("initialMessage must be a user's")
	}
	provider := f.providers[s.Provider]
	if provider == nil || !provider.Describe().MultipleChats {
		return invalidParams("the agent has one chat per session")
	}
	spec := agent.Spec{Session: p.Channel, Chat: p.Chat, Directories: s.WorkingDirectories}
	if s.Config != nil {
		spec.Config = s.Config.Values
	}
	return jsonrpc.Reply{Later: func(context.Context) (any, error) {
		if f.h.State(p.Chat) != nil {
			return nil, ahp.ErrAlreadyExists
		}
		if err := f.openChat(provider, spec, nil); err != nil {
			var wire *ahp.Error
			if errors.As(err, &wire) {
				return nil, wire
			}
			return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", startInfo(err).Message)
		}
		if p.InitialMessage != nil {
			f.driver(p.Chat).begin(uuid.NewString(), p.InitialMessage)
		}
		return nil, nil
	}}
}

// disposeChat ends a chat.
func (f *Feature) disposeChat(_ context.Context, r *host.Request) jsonrpc.Reply {
	if ahp.KindOf(r.Channel) != ahp.KindChat {
		return invalidParams("channel must be a chat")
	}
	if !f.h.Remove(r.Channel) {
		return jsonrpc.Reply{Err: ahp.ErrNotFound}
	}
	return jsonrpc.Reply{Later: func(context.Context) (any, error) {
		f.endChat(r.Channel)
		return nil, nil
	}}
}

// resolveConfig tells which properties a session would have.
func (f *Feature) resolveConfig(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ahp.ResolveSessionConfigParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	provider := f.opts.Providers[0]
	if p.Provider != nil {
		if provider = f.providers[*p.Provider]; provider == nil {
			return jsonrpc.Reply{Err: ahp.ErrProviderNotFound}
		}
	}
	dirs := p.WorkingDirectories
	if len(dirs) == 0 && p.WorkingDirectory != nil {
		dirs = []ahp.URI{*p.WorkingDirectory}
	}
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) {
		c, err := provider.ResolveConfig(ctx, dirs, p.Config)
		if err != nil {
			return nil, err
		}
		c.Schema.Type = "object"
		if c.Values == nil {
			c.Values = map[string]jsontext.Value{}
		}
		return struct {
			Schema ahp.ConfigSchema          `json:"schema"`
			Values map[string]jsontext.Value `json:"values"`
		}{c.Schema, c.Values}, nil
	}}
}

// noItems is an answer without suggestions.
type noItems struct {
	Items []struct{} `json:"items"`
}

func (f *Feature) noConfigCompletions(context.Context, *host.Request) jsonrpc.Reply {
	return jsonrpc.Reply{Result: noItems{Items: []struct{}{}}}
}

// completions suggests nothing yet, but tells a wrong question from a right one.
func (f *Feature) completions(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ahp.CompletionsParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if p.Offset < 0 || p.Offset > utf16Len(p.Text) {
		return invalidParams("offset must be between 0 and the length of text")
	}
	if f.h.State(p.Channel) == nil {
		return jsonrpc.Reply{Err: ahp.ErrNotFound}
	}
	return jsonrpc.Reply{Result: noItems{Items: []struct{}{}}}
}

func utf16Len(s string) (n int64) {
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// isBlank reports whether a message has nothing to say.
func isBlank(m *ahp.Message) bool {
	return m == nil || strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0
}
