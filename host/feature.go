package host

import (
	"context"
	"fmt"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/limit"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// Principal is who a connection belongs to, as the transport authenticated it.
// Every decision asks about the principal, never about an id a client chose.
type Principal string

// Local is the principal of the user who runs the host.
const Local Principal = "local"

// Feature is a part of the host that can be left out.
type Feature interface {
	// Register declares what the feature serves. It is called once, before
	// Start, and must not keep the registry.
	Register(r *Registry) error
	// Start begins the feature's work; ctx ends when the host stops.
	Start(ctx context.Context, h *Host) error
	// Stop ends it and waits. No new request comes, but those begun before may
	// still be running; what is applied until Stop returns is still sent.
	Stop(ctx context.Context) error
}

// Class says how the actions of a channel are kept.
type Class int

// Classes of channel.
const (
	// Shared channels are sequenced, stored and replayed.
	Shared Class = iota
	// Volatile channels are sequenced but neither stored nor replayed. A
	// reconnect answers with their snapshot, or lists them in missing where it
	// holds none, so that the client subscribes again (AHP core, 15.3, R8).
	Volatile
	// Private channels belong to the connection that made them. They are always
	// windowed, and neither sequenced, stored nor seen by anybody else; they are
	// made with Host.Private, and of their scheme only Kind and Controls count.
	Private
)

// Actor is who dispatches an action.
type Actor struct {
	Principal Principal
	ClientID  string
}

// Scheme declares a kind of channel. Validate and Reduce are pure and run under
// the sequencer's lock.
type Scheme struct {
	Kind  ahp.Kind
	Class Class
	// Durable channels outlive the process, where the host has an archive. Only
	// shared ones can.
	Durable bool
	// Open reports whether a state holds work that ends with the process, such
	// as a turn. After a restart Host.Unfinished names such channels. It is pure
	// and cheap; nil means never.
	Open func(state any) bool
	// Release is asked before an idle channel leaves memory, without a lock. It
	// gives up what the feature holds for it, or returns false to keep it.
	Release func(uri ahp.URI) bool
	// Reduce applies an action and returns the same value for a no-op.
	Reduce func(state any, a ahp.Action) any
	// Validate returns why a client's action is refused, "" to accept it. That
	// the protocol lets clients dispatch the type at all was checked before.
	Validate func(state any, a ahp.Action, by Actor) string
	// HasEffect selects the client actions Effect is called for.
	HasEffect func(a ahp.Action) bool
	// Effect acts on an accepted client action after it was committed, one at a
	// time per channel and in order. It must not wait for an agent.
	Effect func(ctx context.Context, e Committed)
	// PerPrincipal, for a Volatile kind, lets every principal see a channel of
	// its own under the one URI; it returns the state of p's. Host.DecideEach
	// changes them. It runs under the sequencer's lock and must not lock.
	PerPrincipal func(p Principal) any
	// Stateless, for a Volatile kind, says that its channels carry notifications
	// alone, which the feature queues by Conn.Relay. They are never windowed; older
	// clients get no snapshot of them.
	Stateless bool
	// May says who may see channels of the kind, besides what the policy says. It is
	// as the policy is; nil means everybody.
	May func(p Principal) bool
	// Controls are the notifications of a private channel that pass by its
	// windows: never counted, never in frames (AHP core, 12.2).
	Controls []string
}

// Committed is an action of a client that was accepted.
type Committed struct {
	Channel   ahp.URI
	Action    ahp.Action
	Before    any // the channel's state before and after the action
	After     any
	ServerSeq uint64
	By        Actor
}

// Request is a request of a peer, its params decoded as far as routing needs.
type Request struct {
	Conn    *Conn
	Method  string
	Channel ahp.URI
	Params  jsontext.Value

	id jsonrpc.ID
}

// Hold keeps the request in flight without a goroutine, to be answered later. The
// handler then returns a Reply that is Taken. See jsonrpc.Conn.Hold.
func (r *Request) Hold(cancelled context.CancelCauseFunc) *jsonrpc.Held {
	return r.Conn.rpc.Hold(r.id, cancelled)
}

// Decode decodes the params; the error is an InvalidParams.
func (r *Request) Decode(v any) error {
	if err := ahp.Unmarshal(r.Params, v); err != nil {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s: params do not have the right form", r.Method)
	}
	return nil
}

// RequestHandler answers a request. It runs on the reader of the connection, in
// order; what takes time goes into Reply.Later.
type RequestHandler func(ctx context.Context, r *Request) jsonrpc.Reply

// NotificationHandler takes a notification of a peer. It runs on the reader of
// the connection, in order with its requests, and must not wait. Nothing is
// answered, whatever it contains; the message is the handler's until it returns.
type NotificationHandler func(m jsonrpc.Message)

// Hooks is what a feature wants to hear of connections. Hooks run on the
// connection's own goroutines and must not wait.
type Hooks struct {
	// Subscribed and Unsubscribed follow a connection's subscriptions. A
	// repeated subscribe is not told. Unsubscribed is also called for each one
	// when the connection is lost, and when the channel is removed, there by
	// the goroutine that removes it.
	Subscribed   func(c *Conn, channel ahp.URI)
	Unsubscribed func(c *Conn, channel ahp.URI)
	// Removed is called when a channel has been removed, also one that went with
	// its session, by the goroutine that removes it.
	Removed func(channel ahp.URI)
	// Lost is called once when a connection that had completed its handshake
	// ends; Resumed when a reconnect continued its lineage.
	Lost    func(c *Conn)
	Resumed func(c *Conn)
}

// Registry takes the declarations of features.
type Registry struct {
	requests      map[string]RequestHandler
	unrouted      map[string]bool // of the requests
	notifications map[string]func(*Conn) NotificationHandler
	schemes       map[ahp.Kind]*Scheme
	hooks         []Hooks
	observers     []*observer
	limits        []limit.Row
	members       map[string]jsontext.Value
	meta          map[string]jsontext.Value
}

func newRegistry() *Registry {
	return &Registry{
		requests:      make(map[string]RequestHandler),
		unrouted:      make(map[string]bool),
		notifications: make(map[string]func(*Conn) NotificationHandler),
		schemes:       make(map[ahp.Kind]*Scheme),
		members:       make(map[string]jsontext.Value),
		meta:          make(map[string]jsontext.Value),
	}
}

// Request declares the handler of a method.
func (r *Registry) Request(method string, h RequestHandler) error {
	if _, ok := r.requests[method]; ok {
		return fmt.Errorf("method %s is declared twice", method)
	}
	r.requests[method] = h
	return nil
}

// UnroutedRequest declares the handler of a method whose params need not name a
// channel: the handler looks at it, Request.Channel is empty, and no policy has
// been asked.
func (r *Registry) UnroutedRequest(method string, h RequestHandler) error {
	r.unrouted[method] = true
	return r.Request(method, h)
}

// Notification declares a notification. Handler makes what takes those of one
// connection, when the first of them comes; it may remember things between them. What
// the host handles itself, dispatchAction and unsubscribe, cannot be declared.
func (r *Registry) Notification(method string, handler func(c *Conn) NotificationHandler) error {
	if _, ok := r.notifications[method]; ok || method == ahp.MethodDispatchAction || method == ahp.MethodUnsubscribe {
		return fmt.Errorf("notification %s is declared twice", method)
	}
	r.notifications[method] = handler
	return nil
}

// Scheme declares a kind of channel.
func (r *Registry) Scheme(s Scheme) error {
	if _, ok := r.schemes[s.Kind]; ok {
		return fmt.Errorf("channel kind %s is declared twice", s.Kind)
	}
	r.schemes[s.Kind] = &s
	return nil
}

// Hooks adds hooks.
func (r *Registry) Hooks(h Hooks) { r.hooks = append(r.hooks, h) }

// InitializeMember adds a member to every InitializeResult.
func (r *Registry) InitializeMember(name string, value jsontext.Value) { r.members[name] = value }

// InitializeMeta adds a member to the _meta of every InitializeResult.
func (r *Registry) InitializeMeta(name string, value jsontext.Value) { r.meta[name] = value }

// Op is a kind of decision of a Policy.
type Op string

// Operations a policy decides about.
const (
	OpSee      Op = "see"      // subscribe to a channel, list it
	OpDispatch Op = "dispatch" // change it
	OpCreate   Op = "create"   // create a session or a chat
	OpDispose  Op = "dispose"  // end one
)

// Policy decides what a principal may do. It must be fast, safe for concurrent
// use, and must not call the host.
type Policy interface {
	Allow(p Principal, op Op, channel ahp.URI) bool
}

// AllowAll is the policy of a host with one user.
type AllowAll struct{}

// Allow implements Policy.
func (AllowAll) Allow(Principal, Op, ahp.URI) bool { return true }
