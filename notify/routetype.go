package notify

import (
	"context"
	"time"
)

// Class says what follows from an attempt (notifications, 6.3).
type Class string

// Classes.
const (
	ClassDelivered Class = "delivered"
	ClassPermanent Class = "permanent" // this route will never take it
	ClassSoft      Class = "soft"      // another route may; without one, try again
	ClassTransient Class = "transient" // try again
)

// Outcome is what one attempt came to.
type Outcome struct {
	Class    Class
	Category string // a fixed word, such as timeout or http_5xx; never text of the other side
	Status   int    // of the transport, 0 if there was none
	// RetryAfter is when the other side wants to hear again; zero: it did not say.
	RetryAfter time.Time
	// PauseTarget: everything for the target waits until RetryAfter.
	PauseTarget bool
	// Abort: the other side wants no more attempts of this item.
	Abort bool
	// Disable: the other side wants nothing more at this endpoint.
	Disable bool
}

// Message is what an attempt sends. The body is frozen.
type Message struct {
	ID      string // of the notification, the same on every attempt and route
	CallID  string
	Attempt int // from 1, over all routes
	Body    []byte
	Trace   string // traceparent, "" for none
}

// Credentials resolve the references of a route at the moment of sending, so
// that a secret changed between two attempts is used at once.
type Credentials interface {
	// Signing returns the keys to sign with, the newest first. While a key is
	// being rotated there are two.
	Signing(ctx context.Context) ([]Secret, error)
	// Header returns the value of a header.
	Header(ctx context.Context, h Header) (Secret, error)
}

// RouteType carries bodies to one kind of destination. Methods may be called
// concurrently.
type RouteType interface {
	// Name is the type's name on the wire.
	Name() string
	// Admits reports whether a principal may use the type at all; "" is an
	// anonymous one.
	Admits(principal string) bool
	// Validate checks a route without touching the network. It fills in Target,
	// Grant and the default of Payload, or returns the reason of its refusal,
	// one of the Route... constants. What a trusted caller names is allowed.
	Validate(c Caller, r *Route) (reason string)
	// Ready reports, without touching the network, whether the destination can
	// take a delivery now. A webhook always can.
	Ready(principal string, r *Route) bool
	// Attempt sends once and reports what came of it. It obeys ctx.
	Attempt(ctx context.Context, r *Route, m Message, c Credentials) Outcome
	// Show returns the endpoint as it may be shown: without anything secret.
	Show(endpoint string) string
}

// Verifier is a RouteType whose endpoints must first prove that they want
// deliveries (notifications, 7.1.3).
type Verifier interface {
	RouteType
	// Scope is the part of an endpoint that one proof covers.
	Scope(r *Route) string
	// Proven reports whether what Validate found is proof enough.
	Proven(r *Route) bool
	// Verify asks the endpoint once.
	Verify(ctx context.Context, r *Route, c Credentials) Outcome
}

// Signer is a RouteType that signs what it sends.
type Signer interface {
	RouteType
	// NewKey makes a key.
	NewKey() Secret
	// ValidKey reports whether a key can be signed with.
	ValidKey(Secret) bool
}
