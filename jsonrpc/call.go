package jsonrpc

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Pending is a call whose request has been sent. Exactly one thing settles it:
// the response, the end of a context given to Wait, or the end of the
// connection. Its methods may be called by many goroutines.
type Pending struct {
	conn   *Conn
	id     uint64
	method string
	done   chan struct{} // closed after result and err are set; nil if settled is set
	result jsontext.Value
	err    error

	// Of a Request.
	settled  func(result jsontext.Value, err error)
	withdraw func() bool
}

// Call sends a request and waits for its response, which it decodes into
// result unless that is nil. A *jsontext.Value takes it verbatim.
//
// An error response is returned as an [*Error]. When ctx ends first, Call tells
// the peer to cancel and returns the context's cause at once; whether the
// peer has acted is then unknown. When the connection closes, it returns a
// [ConnectionError].
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := c.Go(method, params)
	if err != nil {
		return err
	}
	return p.Wait(ctx, result)
}

// Go sends a request and returns without waiting for the response, so that the
// caller can fix its place among other messages. The caller must let a Wait
// return, or the call stays in the table until it is answered or the
// connection closes. An error means that nothing was sent.
func (c *Conn) Go(method string, params any) (*Pending, error) {
	raw, err := marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode params of %s: %w", method, err)
	}
	p := &Pending{conn: c, method: method, done: make(chan struct{})}
	if err := c.register(p); err != nil {
		return nil, err
	}
	msg := AppendRequest(make([]byte, 0, len(raw)+len(method)+64), NumberID(p.id), method, raw)
	if err := c.send(c.opts.Send, msg); err != nil {
		err = fmt.Errorf("send %s: %w", method, err)
		if c.take(p.id) == p {
			p.settle(nil, err)
		}
		return nil, err
	}
	return p, nil
}

// Request is a call that nobody waits for.
type Request struct {
	Method string
	Params jsontext.Value // sent verbatim
	// Send takes the place of Options.Send for the request; nil leaves it.
	Send func(msg []byte) error
	// Withdraw is called when the call is cancelled. True means that the request
	// had not left yet and never will: the peer is then not told.
	Withdraw func() bool
	// Settled is called once, with what settled the call, on the goroutine that
	// did: the reader, in order with everything else the peer sends, or whoever
	// cancels or closes. Result aliases a message. It must not wait.
	Settled func(result jsontext.Value, err error)
}

// Start sends r. The result serves to cancel it; Done and Wait are not for it. An
// error means that nothing was sent, and Settled will not be called.
func (c *Conn) Start(r Request) (*Pending, error) {
	p := &Pending{conn: c, method: r.Method, settled: r.Settled, withdraw: r.Withdraw}
	if err := c.register(p); err != nil {
		return nil, err
	}
	send := r.Send
	if send == nil {
		send = c.opts.Send
	}
	msg := AppendRequest(make([]byte, 0, len(r.Params)+len(r.Method)+64), NumberID(p.id), r.Method, r.Params)
	if err := c.send(send, msg); err != nil && c.take(p.id) == p {
		return nil, fmt.Errorf("send %s: %w", r.Method, err)
	}
	return p, nil // also when the end of the connection settled it first
}

// register gives p the next id and a place in the table.
func (c *Conn) register(p *Pending) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return c.closed
	}
	c.lastID++
	p.id = c.lastID
	if c.calls == nil {
		c.calls = make(map[uint64]*Pending)
	}
	c.calls[p.id] = p
	return nil
}

// take removes a call from the table. Whoever gets it must settle it, and
// nobody else can.
func (c *Conn) take(id uint64) *Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[id]
	delete(c.calls, id)
	return p
}

func (p *Pending) settle(result jsontext.Value, err error) {
	if p.settled != nil {
		p.settled(result, err)
		return
	}
	p.result, p.err = result, err
	close(p.done)
}

// Done returns a channel that is closed when the call has settled.
func (p *Pending) Done() <-chan struct{} { return p.done }

// ID returns the id of the request.
func (p *Pending) ID() ID { return NumberID(p.id) }

// Wait waits for the response as [Conn.Call] does. The end of ctx settles the
// call for good: it cancels the request.
func (p *Pending) Wait(ctx context.Context, result any) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Cancel(context.Cause(ctx))
	case <-p.conn.ctx.Done():
		// Either Close is at work or the context under NewConn has ended.
		p.conn.shut(context.Cause(p.conn.ctx))
	}
	<-p.done // whoever took the call from the table settles it without waiting
	if p.err != nil {
		return p.err
	}
	return p.decode(result)
}

// Cancel settles the call with cause and tells the peer to cancel the request.
// It does nothing when the call has settled already.
func (p *Pending) Cancel(cause error) {
	if p.conn.take(p.id) != p {
		return
	}
	p.conn.stats.callsCancelled.Add(1)
	withdrawn := p.withdraw != nil && p.withdraw()
	p.settle(nil, cause)
	if withdrawn {
		return
	}
	params := append(NumberID(p.id).AppendTo([]byte(`{"id":`)), '}')
	// Counted when it fails; there is nobody left to tell.
	_ = p.conn.send(p.conn.opts.Urgent, AppendNotification(nil, MethodCancel, params))
}

func (p *Pending) decode(result any) error {
	switch into := result.(type) {
	case nil:
		return nil
	case *jsontext.Value:
		*into = p.result
		return nil
	}
	if err := json.Unmarshal(p.result, result, marshalOptions); err != nil {
		return fmt.Errorf("%w to %s: %w", ErrBadResponse, p.method, err)
	}
	return nil
}

// answered settles the call that a response belongs to. A string that spells
// the number of a call counts as that number: some peers change the type, and
// our own ids are all numbers, so nothing can be confused.
func (c *Conn) answered(m Message) {
	p := c.takeAnswered(m.ID)
	switch {
	case p == nil:
	case m.Error != nil:
		p.settle(nil, m.Error)
	default:
		p.settle(m.Result, nil)
	}
}

// takeAnswered takes the call with the id of a response, or counts why there
// is none. Late answers are normal: the cancellation crossed them.
func (c *Conn) takeAnswered(id ID) *Pending {
	if id.IsZero() {
		c.stats.peerComplaints.Add(1)
		return nil
	}
	n, ok := id.looseNumber()
	if ok {
		if p := c.take(n); p != nil {
			return p
		}
	}
	if ok && c.issued(n) {
		c.stats.lateResponses.Add(1)
	} else {
		c.stats.unknownResponses.Add(1)
	}
	return nil
}

// issued reports whether the id n belonged to a call at some time.
func (c *Conn) issued(n uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n >= 1 && n <= c.lastID
}
