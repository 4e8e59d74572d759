package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/slab"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
)

// link is one connection of a client, from the handshake to its end.
type link struct {
	c      *Client
	t      transport.Conn
	rpc    *jsonrpc.Conn
	ctx    context.Context // its cause is why the connection ended
	cancel context.CancelCauseFunc

	// Only the reader touches these.
	handshake *handshake // nil once it is done
	early     []jsonrpc.Message
	liveAt    time.Time
	reading   []byte // the message that is being handled
	spent     bool   // nothing refers to it any more
	heard     heard

	// Set before the connection is live.
	services  *ahp.ClientServiceLimits // nil: the host offers no client services
	callSlots chan struct{}            // holds a token for each call in flight

	// The client's lock guards these.
	queue      []outgoing
	queueBytes int
	dropped    bool                // the queue takes nothing any more
	unsent     map[string]struct{} // ids of requests that never left
	wake       chan struct{}       // holds a token when there may be something to write
	room       broadcast           // there is room in the queue again
	served     services
	echoTimer  *time.Timer // nil unless armed
	windowed

	slab slab.Slab // of those in queue that are lent
	lent int       // bytes of it that the writer has
}

func newLink(c *Client, t transport.Conn) *link {
	l := &link{
		c: c, t: t, wake: make(chan struct{}, 1),
		unsent: make(map[string]struct{}),
	}
	l.ctx, l.cancel = context.WithCancelCause(c.ctx)
	l.rpc = jsonrpc.NewConn(l.ctx, jsonrpc.Options{
		Send: l.send, Urgent: l.withdraw, Handler: (*handler)(l),
		MaxInFlight: jsonrpc.DefaultMaxInFlight + maxServiceCalls, // calls have bounds of their own
	})
	return l
}

// serve runs the connection to its end and returns why.
func (l *link) serve() error {
	var loops sync.WaitGroup
	loops.Go(l.writeLoop)
	loops.Go(l.closeLoop)
	timeout := time.AfterFunc(l.c.opts.HandshakeTimeout, func() {
		if !l.isLive() {
			l.cancel(errHandshakeTimeout)
		}
	})
	defer timeout.Stop()
	l.cancel(l.readLoop())
	loops.Wait()
	cause := context.Cause(l.ctx)
	l.rpc.Close(cause)
	if l.handshake != nil {
		l.c.unanswered(l.handshake, cause)
	}
	return cause
}

var errHandshakeTimeout = errors.New("the host did not answer the handshake in time")

func (l *link) isLive() bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.c.link == l
}

// readLoop reads until the connection ends. The handshake is settled here, on
// the reader, so that nothing that follows its answer overtakes it.
func (l *link) readLoop() error {
	if err := l.greet(); err != nil {
		return err
	}
	r := transport.Reader(l.t)
	for {
		data, err := r.ReadOver(l.takeSpent())
		if err != nil {
			return l.readError(err)
		}
		l.reading = data
		if err := l.rpc.Receive(data); err != nil {
			return err
		}
		if l.handshake != nil {
			if err := l.shake(); err != nil {
				return err
			}
		}
	}
}

// takeSpent returns the message that was read last if nothing refers to it any
// more.
func (l *link) takeSpent() (spent []byte) {
	if l.spent {
		spent = l.reading
	}
	l.reading, l.spent = nil, false
	return spent
}

// readError decides what a broken connection means. A handshake whose answer is
// above this side's limit, although it names no channel, would be so again.
func (l *link) readError(err error) error {
	var closed *transport.CloseError
	if h := l.handshake; h != nil && !h.names && errors.Is(err, transport.ErrTooLarge) && errors.As(err, &closed) && !closed.Remote {
		return Permanent(fmt.Errorf("the host's state is above the message limit of this client: %w", err))
	}
	return err
}

// closeLoop makes the end of the connection known and then closes the carrier,
// which wakes the reader and the writer.
func (l *link) closeLoop() {
	<-l.ctx.Done()
	l.c.mu.Lock()
	l.dropLocked()
	if l.c.link == l {
		l.c.link = nil
		l.c.live.Store(nil)
		l.c.unlinkLocked(context.Cause(l.ctx))
		if l.c.ctx.Err() == nil {
			l.c.lostLocked(context.Cause(l.ctx))
		}
	}
	subs := l.subs
	l.subs = nil
	l.c.mu.Unlock()
	loseTCP(subs, context.Cause(l.ctx))
	_ = l.t.Close(transport.CodeNormal, "")
}

// handler gives link the methods jsonrpc calls, without exporting them.
type handler link

// HandleNotification implements jsonrpc.Handler. It runs on the reader.
func (x *handler) HandleNotification(_ context.Context, m *jsonrpc.Message) {
	l := (*link)(x)
	if l.handshake != nil {
		// Nothing should come before the answer. What does is kept until then.
		if len(l.early) < maxEarlyMessages {
			l.early = append(l.early, *m)
		}
		return
	}
	if !l.hearWindowed(m) {
		l.notified(m)
		l.spent = m.Method == ahp.MethodClientServiceNotification
	}
}

// notified handles one notification of the host. It runs on the reader.
func (l *link) notified(m *jsonrpc.Message) {
	if m.Method == ahp.MethodClientServiceNotification {
		l.serviceNotified(m)
		return
	}
	l.c.notified(m)
}

// HandleRequest implements jsonrpc.Handler.
func (x *handler) HandleRequest(_ context.Context, m jsonrpc.Message) jsonrpc.Reply {
	if m.Method == ahp.MethodClientServiceHandle {
		return (*link)(x).serviceCalled(m.Params)
	}
	handle := x.c.opts.HandleRequest
	if handle == nil {
		return jsonrpc.Reply{Err: jsonrpc.ErrMethodNotFound}
	}
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) { return handle(ctx, m.Method, m.Params) }}
}

// notified handles one notification of the host.
func (c *Client) notified(m *jsonrpc.Message) {
	if m.Method == ahp.MethodAction {
		in, err := readEnvelope(m.Params)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			c.stats.Malformed++
			return
		}
		c.receiveLocked(in, false)
		return
	}
	c.hear(m.Method, m.Params)
}
