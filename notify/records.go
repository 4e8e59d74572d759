package notify

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// States of a call.
const (
	callRunning    = "running"
	callEnded      = "ended"
	callSuperseded = "superseded" // it asked for input; its retry is a call of its own
	callFiltered   = "filtered"   // shorter than its installation wanted to hear of
)

// States of a delivery.
const (
	deliveryPending   = "pending" // due at a time
	deliveryWaiting   = "waiting" // for an earlier one, or for an endpoint to be verified
	deliveryDelivered = "delivered"
	deliveryDead      = "dead"
	deliveryFolded    = "folded" // a streaming item that a later one replaced
	deliveryLost      = "lost"   // a streaming item that could not be delivered in its time
)

// Reasons of a dead letter (notifications, 7.1.5).
const (
	DeadExhausted = "exhausted"
	DeadPermanent = "permanent"
	DeadNoRoute   = "no_route"
	DeadDisabled  = "disabled"
	DeadAborted   = "aborted"
)

// What became of a trigger without a route (notifications, N-13).
const (
	noRouteReported = "result_error"
	noRouteDropped  = "dropped"
)

// call is the record of a call.
type call struct {
	ID         string         `json:"id"`
	Principal  string         `json:"principal"`
	Client     string         `json:"client,omitempty"`
	RequestID  jsontext.Value `json:"requestId,omitzero"`
	Subject    jsontext.Value `json:"subject,omitzero"` // the "ahp" member of a body
	Tool       string         `json:"tool"`
	Server     string         `json:"server,omitempty"`
	Arguments  string         `json:"arguments,omitempty"` // SHA-256, hex
	Trace      string         `json:"trace,omitempty"`     // traceparent
	Install    string         `json:"install,omitempty"`   // the installation it follows
	Routes     []Route        `json:"routes"`              // the accepted ones
	Configured []Trigger      `json:"configured"`          // by any route, also rejected ones
	Ack        Ack            `json:"ack"`
	MinGap     time.Duration  `json:"minGap,omitempty"`
	Key        string         `json:"key,omitempty"` // what makes it unique, see callKey
	State      string         `json:"state"`
	Owner      string         `json:"owner,omitempty"`
	Trigger    Trigger        `json:"trigger,omitempty"`
	Seq        int64          `json:"seq"`               // of the last item
	Missed     int64          `json:"missed,omitempty"`  // streaming items without a route
	Skipped    int64          `json:"skipped,omitempty"` // streaming events folded into the next item
	NextItem   time.Time      `json:"nextItem,omitzero"` // when the next streaming item may be made
	Started    time.Time      `json:"started"`
	Deadline   time.Time      `json:"deadline,omitzero"`
	Ended      time.Time      `json:"ended,omitzero"`
	Items      []string       `json:"items,omitempty"` // notification ids of terminal triggers
	Errors     []Missed       `json:"errors,omitempty"`
	Late       jsontext.Value `json:"late,omitzero"`
}

// delivery is the record of one notification.
type delivery struct {
	ID        string    `json:"id"`
	Call      string    `json:"call"`
	Principal string    `json:"principal"`
	Trigger   Trigger   `json:"trigger"`
	Seq       int64     `json:"seq"`
	State     string    `json:"state"`
	Owner     string    `json:"owner,omitempty"`
	Reason    string    `json:"reason,omitempty"` // of a dead letter
	NoRoute   string    `json:"noRoute,omitempty"`
	Route     int       `json:"route"` // in the call's routes; -1: none
	Target    string    `json:"target,omitempty"`
	After     string    `json:"after,omitempty"`  // the delivery it waits for
	Verify    bool      `json:"verify,omitempty"` // it waits for its endpoint
	Visits    []visit   `json:"visits"`           // by route
	Moving    bool      `json:"moving,omitempty"` // at Due it leaves its route, if another can take it
	RetryAt   time.Time `json:"retryAt,omitzero"` // when Moving: the time of the next attempt if none can
	Home      bool      `json:"home,omitempty"`   // the list has ended; it stays where it is
	Forced    bool      `json:"forced,omitempty"` // an operator chose the route
	Attempts  int       `json:"attempts"`
	Fired     time.Time `json:"fired"`
	Due       time.Time `json:"due"`
	Ended     time.Time `json:"ended,omitzero"`
	Bytes     int64     `json:"bytes"`
	Last      string    `json:"last,omitempty"` // category of the last attempt

	fresh *fresh // not stored
}

// fresh is what a delivery that was just made need not read again: nothing of it
// ever changes.
type fresh struct {
	call *call
	body []byte
}

// maxFresh bounds the bodies that are held in memory.
const maxFresh = 4 << 10

// visit is what a delivery has seen of one route.
type visit struct {
	Attempts int       `json:"attempts"` // of the present schedule
	Since    time.Time `json:"since,omitzero"`
	Last     Class     `json:"last,omitempty"`
}

// Attempt is what one attempt of a delivery came to.
type Attempt struct {
	Number   int       `json:"attempt"`
	Route    string    `json:"route"`
	Started  time.Time `json:"started"`
	Millis   int64     `json:"millis"`
	Class    Class     `json:"class"`
	Category string    `json:"category,omitempty"`
	Status   int       `json:"status,omitempty"`
}

// install is the record of routes for a scope.
type install struct {
	ID         string        `json:"id"`
	Principal  string        `json:"principal"`
	Client     string        `json:"client,omitempty"`
	Scope      string        `json:"scope"`
	Routes     []Route       `json:"routes"`
	Configured []Trigger     `json:"configured"`
	MinGap     time.Duration `json:"minGap,omitempty"`
	Filter     Filter        `json:"filter"`
	Source     string        `json:"source,omitempty"` // events up to Position of it are not told
	Position   int64         `json:"position,omitempty"`
	Created    time.Time     `json:"created"`
	Expires    time.Time     `json:"expires"`
}

// States of an endpoint.
const (
	endpointVerified  = "verified"
	endpointVerifying = "verifying"
	endpointFailed    = "failed" // did not prove that it wants deliveries
	endpointDisabled  = "disabled"
)

// endpoint is what is known of one principal's use of one endpoint.
type endpoint struct {
	ID           string    `json:"id"`
	Principal    string    `json:"principal"`
	Type         string    `json:"type"`
	Endpoint     string    `json:"endpoint"` // as configured: may hold secrets, never shown
	Shown        string    `json:"shown"`
	State        string    `json:"state"`
	Reason       string    `json:"reason,omitempty"` // why disabled
	Proof        string    `json:"proof,omitempty"`  // allow-list, challenge
	Owner        string    `json:"owner,omitempty"`  // who verifies
	Route        Route     `json:"route"`            // with which it is verified
	VerifiedTill time.Time `json:"verifiedTill,omitzero"`
	Used         time.Time `json:"used"`
	Created      time.Time `json:"created"`
	FailingSince time.Time `json:"failingSince,omitzero"`
}

// Durations stand in records as nanoseconds.
var (
	nanos = json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, d time.Duration) error {
		return enc.WriteToken(jsontext.Int(int64(d)))
	}))
	parseNanos = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, d *time.Duration) error {
		return json.UnmarshalDecode(dec, (*int64)(d))
	}))
)

// get reads a record of a table.
func get[T any](tx Tx, t Table, id string) (*T, error) {
	r, err := tx.Get(t, id)
	if err != nil {
		return nil, err
	}
	return decode[T](r)
}

func decode[T any](r Row) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(r.Doc, v, parseNanos); err != nil {
		return nil, fmt.Errorf("record %s is damaged: %w", r.ID, err)
	}
	return v, nil
}

// find reads the records that a query selects.
func find[T any](tx Tx, t Table, q Query) ([]*T, error) {
	rows, err := tx.Find(t, q)
	if err != nil {
		return nil, err
	}
	list := make([]*T, 0, len(rows))
	for _, r := range rows {
		v, err := decode[T](r)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func putCall(tx Tx, c *call) error {
	return tx.Put(Calls, Row{
		ID: c.ID, Parent: c.Install, Principal: c.Principal, Key: c.Key, State: c.State, Owner: c.Owner,
		Due: c.Deadline, Created: c.Started, Doc: mustJSON(c),
	})
}

func putDelivery(tx Tx, d *delivery) error {
	return tx.Put(Deliveries, Row{
		ID: d.ID, Parent: d.Call, Principal: d.Principal, Key: d.Target, State: d.State, Owner: d.Owner,
		Due: d.Due, Created: d.Fired, Size: d.Bytes, Doc: mustJSON(d),
	})
}

func putInstall(tx Tx, i *install) error {
	return tx.Put(Installs, Row{
		ID: i.ID, Principal: i.Principal, Key: i.Scope, Due: i.Expires, Created: i.Created, Doc: mustJSON(i),
	})
}

func putEndpoint(tx Tx, e *endpoint) error {
	return tx.Put(Endpoints, Row{
		ID: e.ID, Parent: e.Proof, Principal: e.Principal, State: e.State, Owner: e.Owner, Due: e.Used, Created: e.Created, Doc: mustJSON(e),
	})
}
