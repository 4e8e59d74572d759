package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// Credential is a bearer token for a resource that a host has advertised, such as in
// ahp.AgentInfo.ProtectedResources. Printed, it shows no token.
type Credential struct {
	Resource string
	Token    string
	Expires  time.Time // zero: not known
	Scopes   []string  // nil: not known
}

// String implements fmt.Stringer.
func (k Credential) String() string { return "[token for " + k.Resource + "]" }

// GoString implements fmt.GoStringer.
func (k Credential) GoString() string { return k.String() }

// LogValue implements slog.LogValuer.
func (k Credential) LogValue() slog.Value { return slog.StringValue(k.String()) }

func (k *Credential) expired() bool { return !k.Expires.IsZero() && !time.Now().Before(k.Expires) }

func (k *Credential) params() ahp.AuthenticateParams {
	p := ahp.AuthenticateParams{Channel: ahp.RootURI, Resource: k.Resource, Token: k.Token, Scopes: k.Scopes}
	if !k.Expires.IsZero() {
		p.ExpiresIn = new(max(int64(time.Until(k.Expires)/time.Second), 1))
	}
	return p
}

// Authenticate pushes a token to the host, which keeps it for the connection, in memory
// (AHP core, 11). The client keeps it too and pushes it at the beginning of every later
// connection, until it has expired, the host refuses it, another one takes its place, or
// it is revoked: by an empty token.
//
// The error is the host's, which is jsonrpc.ErrInvalidParams for a resource it has not
// advertised, or the cause of ctx; the token is then not kept.
func (c *Client) Authenticate(ctx context.Context, k Credential) error {
	if k.Token == "" {
		c.dropCredential(k.Resource, nil)
		err := c.Call(ctx, ahp.MethodAuthenticate, k.params(), nil)
		if errors.Is(err, ErrConnectionLost) {
			return nil // with the connection the host has forgotten it
		}
		return err
	}
	if k.expired() {
		return fmt.Errorf("authenticate: the token for %s has expired", k.Resource)
	}
	c.mu.Lock()
	c.credentials[k.Resource] = &k // before it is sent: the connection may change meanwhile
	c.mu.Unlock()
	err := c.whileLost(ctx, func() error { return c.Call(ctx, ahp.MethodAuthenticate, k.params(), nil) })
	if err != nil {
		c.dropCredential(k.Resource, &k)
		return fmt.Errorf("authenticate: %w", err)
	}
	return nil
}

// dropCredential forgets what is kept for a resource, if it is k, or whatever it is for
// nil.
func (c *Client) dropCredential(resource string, k *Credential) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.credentials[resource]; k == nil || now == k {
		delete(c.credentials, resource)
	}
}

// authenticateLocked pushes what is kept on a new connection, ahead of everything else.
func (c *Client) authenticateLocked(l *link) {
	for resource, k := range c.credentials {
		params, err := ahp.Marshal(k.params())
		if err != nil || k.expired() {
			delete(c.credentials, resource)
			continue
		}
		_, _ = l.rpc.Start(jsonrpc.Request{
			Method: ahp.MethodAuthenticate, Params: params, Send: l.sendLocked,
			Settled: func(_ jsontext.Value, err error) {
				var refused *ahp.Error
				if errors.As(err, &refused) {
					c.dropCredential(resource, k)
					c.opts.Log.Warn("the host refuses a token it took before", "resource", resource, "err", err)
				}
			},
		})
	}
}

// hearAuth handles the host's wish for a token, on the reader.
func (c *Client) hearAuth(params jsontext.Value) {
	var want ahp.AuthRequiredParams
	err := ahp.Unmarshal(params, &want)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || want.Resource.Resource == "" {
		c.stats.Malformed++
		return
	}
	resource := want.Resource.Resource
	if want.Reason == ahp.AuthReasonExpired {
		delete(c.credentials, resource) // it must not be pushed again (AHP core, 11)
	}
	if c.opts.Token == nil || c.asking[resource] {
		return
	}
	c.asking[resource] = true
	c.goLocked(func() {
		err := c.obtain(c.ctx, want)
		c.mu.Lock()
		delete(c.asking, resource)
		c.mu.Unlock()
		if err != nil && c.ctx.Err() == nil {
			c.opts.Log.Warn("no token", "resource", resource, "err", err)
		}
	})
}

// obtain asks whoever has tokens for one, and pushes it.
func (c *Client) obtain(ctx context.Context, want ahp.AuthRequiredParams) error {
	k, err := c.opts.Token(ctx, want)
	if err != nil {
		return err // which is whoever's who has tokens
	}
	k.Resource = want.Resource.Resource
	return c.Authenticate(ctx, k)
}

// authorized runs a request, and once more with the tokens the host wants for it.
func (c *Client) authorized(ctx context.Context, request func() error) error {
	err := request()
	resources := ahp.RequiredResources(err)
	if len(resources) == 0 || c.opts.Token == nil {
		return err
	}
	for _, r := range resources {
		want := ahp.AuthRequiredParams{Channel: ahp.RootURI, Resource: ahp.AuthResource(r), Reason: ahp.AuthReasonRequired}
		if missing := c.obtain(ctx, want); missing != nil {
			return fmt.Errorf("%w: %w", err, missing)
		}
	}
	return request()
}
