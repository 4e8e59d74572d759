package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Item is a notification as it may be shown: nothing of its body, nothing secret
// of its endpoint.
type Item struct {
	ID        string    `json:"notificationId"`
	CallID    string    `json:"callId"`
	Principal string    `json:"principal,omitempty"`
	Tool      string    `json:"tool"`
	Server    string    `json:"server,omitempty"`
	Trigger   Trigger   `json:"trigger"`
	Seq       int64     `json:"seq"`
	State     string    `json:"state"` // pending, waiting, delivered, dead, folded, lost
	Reason    string    `json:"reason,omitempty"`
	NoRoute   string    `json:"noRoute,omitempty"`
	Route     string    `json:"route,omitempty"`
	Endpoint  string    `json:"endpoint,omitempty"`
	Attempts  int       `json:"attempts"`
	Last      string    `json:"last,omitempty"` // category of the last failure
	Bytes     int64     `json:"bytes"`
	FiredAt   time.Time `json:"firedAt"`
	DueAt     time.Time `json:"dueAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

// Detail is everything that may be shown of a notification.
type Detail struct {
	Item
	Tries []Attempt      `json:"tries,omitempty"`
	Body  jsontext.Value `json:"body,omitempty"` // as it was frozen, after masking
}

// EndpointInfo is an endpoint as it may be shown.
type EndpointInfo struct {
	ID           string    `json:"endpointId"`
	Principal    string    `json:"principal,omitempty"`
	Type         string    `json:"type"`
	Endpoint     string    `json:"endpoint"`
	State        string    `json:"state"` // verified, verifying, failed, disabled
	Reason       string    `json:"reason,omitempty"`
	Proof        string    `json:"proof,omitempty"`
	VerifiedTill time.Time `json:"verifiedTill,omitzero"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	UsedAt       time.Time `json:"usedAt"`
	Pending      int       `json:"pending"`
}

// ItemQuery selects notifications. The zero value selects the latest of all.
type ItemQuery struct {
	Principal string // "": everybody's
	CallID    string
	State     string
	Endpoint  string    // id of an endpoint
	Since     time.Time // fired at or after
	Before    time.Time // fired before
	Limit     int       // 0: 100
}

// Desk looks at a store and acts on it, with or without an engine running: what
// it makes due is done by the engines on the store. Methods may be called
// concurrently.
type Desk struct {
	store Store
	types map[string]RouteType
}

// NewDesk returns the desk of a store. The types are needed to show endpoints.
func NewDesk(s Store, types ...RouteType) *Desk {
	d := &Desk{store: s, types: make(map[string]RouteType)}
	for _, t := range types {
		d.types[t.Name()] = t
	}
	return d
}

// Desk returns the desk of the engine's store.
func (e *Engine) Desk() *Desk { return &Desk{store: e.store, types: e.types} }

// Items lists notifications, the latest first.
func (k *Desk) Items(ctx context.Context, q ItemQuery) (items []Item, err error) {
	err = k.store.View(ctx, func(tx Tx) error {
		found, err := k.find(tx, q)
		if err != nil {
			return err
		}
		for _, d := range found {
			c, err := get[call](tx, Calls, d.Call)
			if err != nil {
				return err
			}
			items = append(items, k.item(d, c))
		}
		return nil
	})
	return items, err
}

// find reads the deliveries of a query.
func (k *Desk) find(tx Tx, q ItemQuery) ([]*delivery, error) {
	def(&q.Limit, 100)
	query := Query{CreatedSince: q.Since, CreatedBefore: q.Before, Order: OrderNewest, Limit: q.Limit}
	for column, value := range map[Column]string{ByPrincipal: q.Principal, ByParent: q.CallID, ByState: q.State} {
		if value != "" {
			query.Where = append(query.Where, Cond{column, value})
		}
	}
	if q.Endpoint == "" {
		return find[delivery](tx, Deliveries, query)
	}
	return k.findAt(tx, query, q.Endpoint)
}

// findAt reads the deliveries that go to one endpoint.
func (k *Desk) findAt(tx Tx, query Query, endpointID string) ([]*delivery, error) {
	limit := query.Limit
	query.Limit = 0
	all, err := find[delivery](tx, Deliveries, query)
	if err != nil {
		return nil, err
	}
	var at []*delivery
	for _, d := range all {
		c, err := get[call](tx, Calls, d.Call)
		if err != nil {
			return nil, err
		}
		if d.Route >= 0 && len(at) < limit && k.endpointID(d.Principal, &c.Routes[d.Route]) == endpointID {
			at = append(at, d)
		}
	}
	return at, nil
}

func (k *Desk) endpointID(principal string, r *Route) string {
	return (&Engine{types: k.types}).endpointID(principal, r)
}

func (k *Desk) item(d *delivery, c *call) Item {
	it := Item{
		ID: d.ID, CallID: d.Call, Principal: d.Principal, Tool: c.Tool, Server: c.Server, Trigger: d.Trigger, Seq: d.Seq,
		State: d.State, Reason: d.Reason, NoRoute: d.NoRoute, Attempts: d.Attempts, Last: d.Last, Bytes: d.Bytes,
		FiredAt: d.Fired, EndedAt: d.Ended,
	}
	if d.State == deliveryPending {
		it.DueAt = d.Due
	}
	if d.State == deliveryDelivered {
		it.Last = ""
	}
	if d.Route >= 0 {
		r := &c.Routes[d.Route]
		it.Route, it.Endpoint = r.ID, k.show(r)
	}
	return it
}

func (k *Desk) show(r *Route) string {
	if t := k.types[r.Type]; t != nil {
		return t.Show(r.Endpoint)
	}
	return r.Type
}

// Item reads everything about one notification.
func (k *Desk) Item(ctx context.Context, id string) (out Detail, err error) {
	err = k.store.View(ctx, func(tx Tx) error {
		d, err := get[delivery](tx, Deliveries, id)
		if err != nil {
			return err
		}
		c, err := get[call](tx, Calls, d.Call)
		if err != nil {
			return err
		}
		out.Item = k.item(d, c)
		tries, err := find[Attempt](tx, Attempts, Query{Where: []Cond{{ByParent, id}}})
		if err != nil {
			return err
		}
		for _, a := range tries {
			out.Tries = append(out.Tries, *a)
		}
		row, err := tx.Get(Bodies, id)
		out.Body = row.Doc
		return ignoreNotFound(err)
	})
	return out, err
}

// Call reads a call with its result, for principal, or for anybody's if that is
// empty.
func (k *Desk) Call(ctx context.Context, principal, id string) (s Summary, err error) {
	err = k.store.View(ctx, func(tx Tx) error {
		c, err := get[call](tx, Calls, id)
		if err != nil {
			return err
		}
		if principal != "" && c.Principal != principal {
			return ErrNotFound
		}
		s, err = c.summary(tx)
		return err
	})
	return s, err
}

// Endpoints lists what is known of endpoints, for one principal or for all.
func (k *Desk) Endpoints(ctx context.Context, principal string) (list []EndpointInfo, err error) {
	query := Query{Order: OrderCreated}
	if principal != "" {
		query.Where = []Cond{{ByPrincipal, principal}}
	}
	err = k.store.View(ctx, func(tx Tx) error {
		found, err := find[endpoint](tx, Endpoints, query)
		if err != nil {
			return err
		}
		pending, err := k.pending(tx)
		for _, ep := range found {
			info := ep.info()
			info.Pending = pending[ep.ID]
			list = append(list, info)
		}
		return err
	})
	return list, err
}

// pending counts what is on its way, by endpoint.
func (k *Desk) pending(tx Tx) (map[string]int, error) {
	count := make(map[string]int)
	open, err := find[delivery](tx, Deliveries, Query{Where: []Cond{{ByState, deliveryPending}}})
	if err != nil {
		return nil, err
	}
	for _, d := range open {
		c, err := get[call](tx, Calls, d.Call)
		if err != nil {
			return nil, err
		}
		count[k.endpointID(d.Principal, &c.Routes[d.Route])]++
	}
	return count, nil
}

func (ep *endpoint) info() EndpointInfo {
	return EndpointInfo{
		ID: ep.ID, Principal: ep.Principal, Type: ep.Type, Endpoint: ep.Shown, State: ep.State, Reason: ep.Reason, Proof: ep.Proof,
		VerifiedTill: ep.VerifiedTill, FailingSince: ep.FailingSince, UsedAt: ep.Used,
	}
}

// ErrNotDue means that a notification cannot be delivered again: it is just on
// its way, or has no route.
var ErrNotDue = errors.New("cannot be redelivered")

// Redeliver sends a notification again, dead, delivered, or waiting for its next
// attempt: the same id and body, a fresh schedule. route names another of its call's accepted routes; "" keeps
// the one it had.
func (k *Desk) Redeliver(ctx context.Context, id, route string) error {
	return k.store.Update(ctx, func(tx Tx) error { return k.redeliver(tx, id, route) })
}

func (k *Desk) redeliver(tx Tx, id, route string) error {
	d, err := get[delivery](tx, Deliveries, id)
	if err != nil {
		return err
	}
	idle := d.State == deliveryPending && d.Owner == ""
	if !idle && d.State != deliveryDead && d.State != deliveryDelivered {
		return fmt.Errorf("notification %s %w: it is %s", id, ErrNotDue, d.State)
	}
	c, err := get[call](tx, Calls, d.Call)
	if err != nil {
		return err
	}
	to, err := c.routeFor(d, route)
	if err != nil {
		return err
	}
	d.Route, d.Target, d.Forced = to, c.Routes[to].Target, true
	d.State, d.Owner, d.Reason, d.Due, d.Ended = deliveryPending, "", "", time.Now(), time.Time{}
	d.Visits, d.Moving, d.Home, d.RetryAt = make([]visit, len(c.Routes)), false, false, time.Time{}
	return putDelivery(tx, d)
}

// routeFor is the route a notification is to be sent again on.
func (c *call) routeFor(d *delivery, name string) (int, error) {
	for i := range c.Routes {
		if name != "" && c.Routes[i].ID == name {
			return i, nil
		}
		if name == "" && (i == d.Route || d.Route < 0 && c.Routes[i].Lists(d.Trigger)) {
			return i, nil
		}
	}
	if name != "" {
		return 0, fmt.Errorf("call %s has no accepted route %q; it has %v", c.ID, name, ids(c.Routes))
	}
	return 0, fmt.Errorf("notification %s %w: none of its call's routes was meant for it; name one of %v", d.ID, ErrNotDue, ids(c.Routes))
}

// RedeliverAll sends every dead notification of a query again and returns their
// ids.
func (k *Desk) RedeliverAll(ctx context.Context, q ItemQuery) (done []string, err error) {
	q.State = deliveryDead
	def(&q.Limit, 10_000)
	err = k.store.Update(ctx, func(tx Tx) error {
		found, err := k.find(tx, q)
		if err != nil {
			return err
		}
		for _, d := range found {
			switch err := k.redeliver(tx, d.ID, ""); {
			case errors.Is(err, ErrNotDue):
			case err != nil:
				return err
			default:
				done = append(done, d.ID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// Purge removes the dead notifications of a query and returns how many.
func (k *Desk) Purge(ctx context.Context, q ItemQuery) (n int, err error) {
	q.State = deliveryDead
	def(&q.Limit, 10_000)
	err = k.store.Update(ctx, func(tx Tx) error {
		found, err := k.find(tx, q)
		if err != nil {
			return err
		}
		for _, d := range found {
			if err := removeDelivery(tx, d.ID); err != nil {
				return err
			}
		}
		n = len(found)
		return nil
	})
	return n, err
}

// SetEndpoint disables an endpoint, or enables it again. Queued notifications
// ask at the moment of sending.
func (k *Desk) SetEndpoint(ctx context.Context, id string, enabled bool) error {
	return k.store.Update(ctx, func(tx Tx) error {
		ep, err := get[endpoint](tx, Endpoints, id)
		if err != nil {
			return err
		}
		switch {
		case !enabled:
			ep.State, ep.Reason = endpointDisabled, "by the operator"
		case ep.State == endpointDisabled:
			ep.State, ep.Reason, ep.FailingSince = endpointVerified, "", time.Time{}
		}
		return putEndpoint(tx, ep)
	})
}
