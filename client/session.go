package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// Session is a subscribed session.
type Session struct{ *Channel }

// Session subscribes to a session.
func (c *Client) Session(ctx context.Context, uri ahp.URI) (*Session, error) {
	ch, err := c.subscribeKind(ctx, uri, ahp.KindSession, SubscribeOptions{})
	if err != nil {
		return nil, err
	}
	return &Session{ch}, nil
}

// subscribeKind subscribes to a channel whose state must be of a kind.
func (c *Client) subscribeKind(ctx context.Context, uri ahp.URI, kind ahp.Kind, o SubscribeOptions) (*Channel, error) {
	if ahp.KindOf(uri) != kind {
		return nil, fmt.Errorf("%s is not the URI of a %s", uri, kind)
	}
	return c.Subscribe(ctx, uri, o)
}

// State is the optimistic state; see Channel.State.
func (s *Session) State() *ahp.SessionState { return s.Channel.State().(*ahp.SessionState) }

// CreationError tells why a session could not be prepared.
type CreationError struct {
	Session ahp.URI
	Info    ahp.ErrorInfo
}

// Error returns the host's message.
func (e *CreationError) Error() string { return "create session: " + e.Info.Message }

// Ready waits until the session is prepared. The error is a *CreationError when
// it could not be.
func (s *Session) Ready(ctx context.Context) error {
	if err := s.Wait(ctx, func(any) bool { return s.settledLocked() }); err != nil {
		return err
	}
	state := s.State()
	if state.Lifecycle != ahp.LifecycleFailed {
		return nil
	}
	e := &CreationError{Session: s.URI()}
	if state.CreationError != nil {
		e.Info = *state.CreationError
	}
	return e
}

func (s *Session) settledLocked() bool {
	return s.ch.machine.Confirmed().(*ahp.SessionState).Lifecycle != ahp.LifecycleCreating
}

// DefaultChat waits for the session's default chat and subscribes to it.
func (s *Session) DefaultChat(ctx context.Context) (*Chat, error) {
	var uri ahp.URI
	err := s.Wait(ctx, func(state any) bool {
		if chat := state.(*ahp.SessionState).DefaultChat; chat != nil {
			uri = *chat
		}
		return uri != ""
	})
	if err != nil {
		return nil, err
	}
	return s.ch.c.Chat(ctx, uri)
}

// SetTitle renames the session.
func (s *Session) SetTitle(title string) *Dispatch {
	return s.Dispatch(&ahp.SessionTitleChanged{Title: title})
}

// SetConfig changes configuration properties of the session.
func (s *Session) SetConfig(values map[string]jsontext.Value) *Dispatch {
	return s.Dispatch(&ahp.SessionConfigChanged{ConfigChange: ahp.ConfigChange{Config: values}})
}

// CreateSessionOptions say what session is wanted. The zero value is the host's
// default agent in its default directory.
type CreateSessionOptions struct {
	URI         ahp.URI // empty: a new one
	Provider    string
	Directories []ahp.URI // file URIs; the first is the working directory
	Config      map[string]jsontext.Value
	// Params are members beside these, such as an active client.
	Params ahp.CreateSessionParams
}

func (o *CreateSessionOptions) params() ahp.CreateSessionParams {
	p := o.Params
	p.Channel = o.URI
	if p.Channel == "" {
		p.Channel = NewSessionURI()
	}
	if o.Provider != "" {
		p.Provider = &o.Provider
	}
	if o.Directories != nil {
		p.WorkingDirectories = o.Directories
	}
	if o.Config != nil {
		p.Config = o.Config
	}
	return p
}

// CreateSession creates a session, subscribes to it and waits until it is ready.
//
// The URI is chosen here, before anything is sent. So when the connection is
// lost on the way, the request can be made again without ever making a second
// session, and CreateSession does so as soon as the client is live.
//
// Errors of the host: ahp.ErrProviderNotFound, ahp.ErrAuthRequired,
// ahp.ErrSessionAlreadyExists and others; a *CreationError when the session was
// created and could not be prepared.
func (c *Client) CreateSession(ctx context.Context, o CreateSessionOptions) (*Session, error) {
	p := o.params()
	err := c.authorized(ctx, func() error {
		return c.createOnce(ctx, ahp.MethodCreateSession, p, ahp.ErrSessionAlreadyExists)
	})
	if err != nil {
		return nil, err
	}
	var s *Session
	err = c.whileLost(ctx, func() (err error) {
		s, err = c.Session(ctx, p.Channel)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// createOnce makes a request that creates something under an identity of our
// own, over as many connections as it takes. Once a request may have arrived,
// "exists already" is the answer that it did.
func (c *Client) createOnce(ctx context.Context, method string, params any, exists error) error {
	sent := false
	return c.whileLost(ctx, func() error {
		err := c.Call(ctx, method, params, nil)
		if sent && errors.Is(err, exists) {
			return nil
		}
		var lost *LostError
		sent = sent || errors.As(err, &lost) && lost.Sent
		return err
	})
}

// whileLost repeats f while it fails for want of a connection.
func (c *Client) whileLost(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, ErrConnectionLost) {
			return err
		}
		if err := c.Ready(ctx); err != nil {
			return err
		}
	}
}

// DisposeSession ends a session and its chats.
func (c *Client) DisposeSession(ctx context.Context, uri ahp.URI) error {
	return c.Call(ctx, ahp.MethodDisposeSession, ahp.ChannelParams{Channel: uri}, nil)
}

// CreateChat adds a chat to a session and subscribes to it. Params.Channel is
// the session; an empty Params.Chat is chosen here. The remarks of CreateSession
// on lost connections hold.
func (c *Client) CreateChat(ctx context.Context, params ahp.CreateChatParams) (*Chat, error) {
	if params.Chat == "" {
		params.Chat = NewChatURI()
	}
	err := c.authorized(ctx, func() error { return c.createOnce(ctx, ahp.MethodCreateChat, params, ahp.ErrAlreadyExists) })
	if err != nil {
		return nil, err
	}
	var chat *Chat
	err = c.whileLost(ctx, func() (err error) {
		chat, err = c.Chat(ctx, params.Chat)
		return err
	})
	return chat, err
}

// DisposeChat ends a chat.
func (c *Client) DisposeChat(ctx context.Context, uri ahp.URI) error {
	return c.Call(ctx, ahp.MethodDisposeChat, ahp.ChannelParams{Channel: uri}, nil)
}
