package session

import (
	"context"
	"crypto/sha256"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// maxTokenBytes bounds a token, which has to fit into an environment.
const maxTokenBytes = 16 << 10

// credentials keep the tokens that clients have pushed: of each connection, in memory
// alone, and no longer than the connection lasts (AHP core, 17, 18). An agent that was
// opened with one goes on when the connection is lost; what is revoked, replaced or
// expired it must not use any more.
type credentials struct {
	f *Feature
	// offered are the resources that are advertised. It is constant once the feature has
	// been registered.
	offered map[string]ahp.ProtectedResourceMetadata

	// mu guards what follows. It is held for no call of another package.
	mu      sync.Mutex
	holders map[*host.Conn]*holder
	uses    map[useKey]weak.Pointer[use]
	stopped bool
}

// holder is a connection that has tokens.
type holder struct {
	by   host.Actor
	held map[string]*credential // by resource
}

// credential is one token.
type credential struct {
	resource string
	token    agent.Token
	expiry   *time.Timer // nil for none
	use      *use
}

// use is what the credentials of one client with one token have in common, over all its
// connections: an agent that was opened with the token on an earlier one must not go on
// when the client takes it back on a later one.
type use struct{ over atomic.Bool }

// useKey tells tokens apart without keeping them.
type useKey struct {
	by       host.Actor
	resource string
	sum      [sha256.Size]byte
}

func newCredentials(f *Feature) *credentials {
	return &credentials{
		f: f, offered: make(map[string]ahp.ProtectedResourceMetadata), holders: make(map[*host.Conn]*holder), uses: make(map[useKey]weak.Pointer[use]),
	}
}

// offer advertises the resources of an agent.
func (c *credentials) offer(resources []ahp.ProtectedResourceMetadata) {
	for _, r := range resources {
		c.offered[r.Resource] = r
	}
}

func (c *credentials) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for _, h := range c.holders {
		h.stopTimers()
	}
	clear(c.holders)
}

// authenticate takes a token, or takes one back (AHP core, 11).
func (c *credentials) authenticate(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ahp.AuthenticateParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if err := c.check(&p); err != nil {
		c.f.count.tokens.WithLabelValues(tokenRefused).Inc()
		return jsonrpc.Reply{Err: err}
	}
	if p.Token == "" {
		c.f.count.tokens.WithLabelValues(tokenRevoked).Inc()
		c.set(r.Conn, p.Resource, nil)
		return jsonrpc.Reply{Result: struct{}{}}
	}
	c.f.count.tokens.WithLabelValues(tokenAccepted).Inc()
	cred := &credential{resource: p.Resource, token: agent.Token(p.Token)}
	c.set(r.Conn, p.Resource, cred)
	if p.ExpiresIn != nil {
		c.expireIn(r.Conn, cred, *p.ExpiresIn)
	}
	return jsonrpc.Reply{Result: struct{}{}}
}

// check never quotes the token.
func (c *credentials) check(p *ahp.AuthenticateParams) error {
	_, known := c.offered[p.Resource]
	switch {
	case p.Channel != ahp.RootURI:
		return invalidParams("channel must be %s", ahp.RootURI)
	case !known:
		return invalidParams("resource is none that this host has advertised; agents say theirs in protectedResources")
	case p.ExpiresIn != nil && *p.ExpiresIn < 1:
		return invalidParams("expiresIn counts seconds and is at least 1")
	case len(p.Token) > maxTokenBytes:
		return invalidParams("a token has at most %d bytes", maxTokenBytes)
	case !visible(p.Token):
		return invalidParams("a bearer token consists of visible ASCII characters")
	}
	return nil
}

// visible reports whether a text can be a bearer token: no more is asked of it than
// that it fits into a header, and into a variable of the environment (RFC 6750, 2.1).
func visible(token string) bool {
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return false
		}
	}
	return true
}

// set puts cred in the place of what the connection had for the resource.
func (c *credentials) set(conn *host.Conn, resource string, cred *credential) {
	by := actorOf(conn)
	c.mu.Lock()
	before := c.removeLocked(conn, resource)
	if cred != nil && !c.stopped {
		cred.use = c.useLocked(by, cred)
		if c.holders[conn] == nil {
			c.holders[conn] = &holder{by: by, held: make(map[string]*credential)}
		}
		c.holders[conn].held[resource] = cred
	}
	c.mu.Unlock()
	if before != nil && (cred == nil || before.use != cred.use) {
		c.retire(before)
	}
}

// useLocked finds the use of a token that somebody may still have, or begins one.
func (c *credentials) useLocked(by host.Actor, cred *credential) *use {
	maps.DeleteFunc(c.uses, func(_ useKey, u weak.Pointer[use]) bool { return u.Value() == nil })
	key := useKey{by, cred.resource, sha256.Sum256([]byte(cred.token))}
	if u := c.uses[key].Value(); u != nil && !u.over.Load() {
		return u
	}
	u := new(use)
	c.uses[key] = weak.Make(u)
	return u
}

// hasLocked returns what a connection has for a resource, nil for nothing.
func (c *credentials) hasLocked(conn *host.Conn, resource string) *credential {
	if h := c.holders[conn]; h != nil {
		return h.held[resource]
	}
	return nil
}

// removeLocked forgets and returns what a connection had for a resource.
func (c *credentials) removeLocked(conn *host.Conn, resource string) *credential {
	cred := c.hasLocked(conn, resource)
	if cred == nil {
		return nil
	}
	cred.stopTimer()
	delete(c.holders[conn].held, resource)
	if len(c.holders[conn].held) == 0 {
		delete(c.holders, conn)
	}
	return cred
}

// retire ends the use of a token: an agent that has it is ended as soon as it has no
// turn, and the next turn opens another.
func (c *credentials) retire(cred *credential) {
	cred.use.over.Store(true)
	for _, d := range c.f.roster.all() {
		d.review()
	}
}

// mostSeconds is more than any token lasts.
const mostSeconds = int64(100 * 365 * 24 * time.Hour / time.Second)

func (c *credentials) expireIn(conn *host.Conn, cred *credential, seconds int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasLocked(conn, cred.resource) != cred {
		return
	}
	after := time.Duration(min(seconds, mostSeconds)) * time.Second
	cred.expiry = time.AfterFunc(after, func() { c.expired(conn, cred) })
}

// expired forgets a token and asks for another.
func (c *credentials) expired(conn *host.Conn, cred *credential) {
	c.mu.Lock()
	current := c.hasLocked(conn, cred.resource) == cred
	if current {
		c.removeLocked(conn, cred.resource)
	}
	c.mu.Unlock()
	if !current {
		return
	}
	c.f.count.tokens.WithLabelValues(tokenExpired).Inc()
	c.ask(conn, ahp.RootURI, cred.resource, ahp.AuthReasonExpired)
	c.retire(cred)
}

func (h *holder) stopTimers() {
	for _, cred := range h.held {
		cred.stopTimer()
	}
}

func (c *credential) stopTimer() {
	if c.expiry != nil {
		c.expiry.Stop()
	}
}

// ask asks a client for a token.
func (c *credentials) ask(conn *host.Conn, channel ahp.URI, resource, reason string) {
	// A connection that is gone is asked for nothing.
	_ = conn.Notify(ahp.MethodAuthRequired, ahp.AuthRequiredParams{
		Channel: channel, Resource: ahp.AuthResource(c.offered[resource]), Reason: reason,
	})
}

// lost implements host.Hooks.
func (c *credentials) lost(conn *host.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.holders[conn]; h != nil {
		h.stopTimers()
		delete(c.holders, conn)
	}
}

// lookUp returns what a client has for the resources, by their identifiers, and those
// that are required and that it has nothing for.
func (c *credentials) lookUp(by host.Actor, resources []ahp.ProtectedResourceMetadata) (found map[string]*credential, missing []ahp.ProtectedResourceMetadata) {
	if len(resources) == 0 {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found = make(map[string]*credential)
	for _, h := range c.holders {
		if h.by != by {
			continue
		}
		for _, r := range resources {
			if cred := h.held[r.Resource]; cred != nil && !cred.use.over.Load() {
				found[r.Resource] = cred
			}
		}
	}
	for _, r := range resources {
		if found[r.Resource] == nil && (r.Required == nil || *r.Required) {
			missing = append(missing, r)
		}
	}
	return found, missing
}

// required is the error for a client that asks for an agent whose tokens it has not
// pushed, nil for one that has (AHP core, 2.2).
func (c *credentials) required(conn *host.Conn, d agent.Description) (map[string]agent.Token, error) {
	found, missing := c.lookUp(actorOf(conn), d.Resources)
	if len(missing) == 0 {
		return tokens(found), nil
	}
	return nil, ahp.Errorf(ahp.CodeAuthRequired, "%s needs a token for %s", d.DisplayName, names(missing)).
		WithData(ahp.AuthRequiredData{Resources: missing})
}

func actorOf(c *host.Conn) host.Actor {
	return host.Actor{Principal: c.Principal(), ClientID: c.ClientID()}
}

func tokens(found map[string]*credential) map[string]agent.Token {
	if len(found) == 0 {
		return nil
	}
	list := make(map[string]agent.Token, len(found))
	for resource, cred := range found {
		list[resource] = cred.token
	}
	return list
}

// names lists resources for a person.
func names(resources []ahp.ProtectedResourceMetadata) string {
	var list []string
	for _, r := range resources {
		list = append(list, r.Resource)
	}
	return strings.Join(list, " and ")
}
