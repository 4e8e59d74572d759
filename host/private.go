package host

import (
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// Endpoint is a feature's end of a private channel. Receive, Subscribe,
// Unsubscribed and Violated are called on the reader of the connection, one at a
// time and in order; Fill on its writer. None of them may wait.
type Endpoint interface {
	// Subscribe says that the client subscribes; an error refuses it. The answer
	// and the snapshot leave before anything Fill returns.
	Subscribe() error
	// Receive takes a notification of the client for the channel, whatever its
	// method. Params may be written to, and are the endpoint's until it returns.
	// What counts against the window has a size, to be given to Stream.Release when the endpoint has
	// done with the message; controls have none.
	Receive(method string, params jsontext.Value, size int64)
	// Fill appends the next data message for the client to dst: one complete
	// message of at most maxFrame bytes, in the measure of flow.Size, which it
	// also returns. Zero means that there is none; Stream.Ready asks again.
	Fill(dst []byte, maxFrame int64) (msg []byte, size int64)
	// Violated says that the client broke a rule of windowed delivery. The
	// endpoint ends the channel.
	Violated(err error)
	// Unsubscribed says that the client ended the channel, subscribed or not;
	// Lost that its connection has ended. One of them is called, once, and
	// nothing but Fill after it.
	Unsubscribed()
	Lost()
}

// Stream is a channel of class Private: it belongs to the connection that made
// it, is windowed, has no state and no numbers, and ends with the connection.
// Nobody else can tell that it exists. Its methods may be called concurrently.
type Stream struct {
	c        *Conn
	uri      ahp.URI
	scheme   *Scheme
	endpoint Endpoint

	w          atomic.Pointer[windowed] // nil until the client subscribes
	introduced bool                     // the snapshot has been made; the writer's
}

// Private makes a private channel of the connection. The error is
// ErrAlreadyExists when the URI is in use on this host, whoever uses it, or says
// that the connection has ended. Close frees the URI.
func (h *Host) Private(c *Conn, uri ahp.URI, e Endpoint) (*Stream, error) {
	scheme := h.registry.schemes[ahp.KindOf(uri)]
	if scheme == nil || scheme.Class != Private {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "not a private channel: %s", uri)
	}
	s := &Stream{c: c, uri: uri, scheme: scheme, endpoint: e}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.private[uri] != nil {
		return nil, ahp.ErrAlreadyExists
	}
	if !c.out.addStream(s) {
		return nil, CloseShutdown
	}
	h.private[uri] = s
	return s, nil
}

// addStream is false when the connection has ended.
func (o *outbox) addStream(s *Stream) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if o.win.streams == nil {
		o.win.streams = make(map[ahp.URI]*Stream)
	}
	o.win.streams[s.uri] = s
	o.win.any.Store(true)
	return true
}

// stream returns the private channel of that name, nil without one.
func (o *outbox) stream(uri []byte) *Stream {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.win.streams[ahp.URI(uri)]
}

// dropStream takes a private channel out; it is false when it was not there.
func (o *outbox) dropStream(s *Stream) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.win.streams[s.uri] != s {
		return false
	}
	delete(o.win.streams, s.uri)
	if w := s.w.Load(); w != nil {
		o.dropWindowLocked(w)
	}
	return true
}

// Ready says that Fill may have something.
func (s *Stream) Ready() {
	if w := s.w.Load(); w != nil {
		s.c.out.nudge(w)
	}
}

// Release gives back what Receive was given with that size, in any order.
func (s *Stream) Release(size int64) {
	if w := s.w.Load(); w != nil && size > 0 {
		w.release(size)
	}
}

// End sends a control notification without further params, which may overtake
// data, and nothing after it. The channel stays the client's to unsubscribe.
func (s *Stream) End(method string) {
	w := s.w.Load()
	if w == nil {
		return // the client hears nothing before it has subscribed
	}
	s.c.out.mute(w)
	params := append(appendString([]byte(`{"channel":`), s.uri), '}')
	s.c.control(w, jsonrpc.AppendNotification(nil, method, params))
}

// control sends a message that may overtake data, but not the answer to the
// subscribe.
func (c *Conn) control(w *windowed, msg []byte) {
	c.out.mu.Lock()
	open := w.open
	c.out.mu.Unlock()
	// That it fails means that the connection ends, of which the owner hears.
	if open {
		_ = c.sendUrgent(msg)
	} else {
		_ = c.send(msg)
	}
}

// Close ends the channel on the host's side and frees its URI. It may be called
// more than once.
func (s *Stream) Close() {
	s.c.out.dropStream(s)
	h := s.c.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.private[s.uri] == s {
		delete(h.private, s.uri)
	}
}

// subscribe opens the channel for its client (AHP core, 13 "Subscribe").
func (s *Stream) subscribe(m jsonrpc.Message, offer *ahp.FlowControlOffer) error {
	if offer == nil {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "this channel needs flowControl")
	}
	if s.w.Load() != nil {
		return errSubscribed
	}
	toClient, err := s.c.h.lower(offer, s.uri)
	if err != nil {
		return err
	}
	w := newWindowed(s.c, s.uri, s, toClient, s.c.h.receiveLimits())
	if !s.c.out.openWindow(w) {
		return CloseShutdown
	}
	s.w.Store(w)
	if err := s.endpoint.Subscribe(); err != nil {
		s.w.Store(nil)
		s.c.out.closeWindow(w)
		return err
	}
	return s.c.answerWindowed(m.ID, item{}, w)
}

// next implements source.
func (s *Stream) next(dst []byte, maxFrame int64) ([]byte, int64, func(), uint64) {
	if !s.introduced {
		s.introduced = true
		msg := s.appendSnapshot(dst)
		return msg, flow.Size(msg), nil, 0
	}
	msg, size := s.endpoint.Fill(dst, maxFrame)
	return msg, size, nil, 0
}

// appendSnapshot appends the first data message: the state is the empty object.
func (s *Stream) appendSnapshot(dst []byte) []byte {
	dst = appendString(append(dst, `{"jsonrpc":"2.0","method":"channel/snapshot","params":{"channel":`...), s.uri)
	dst = appendString(append(dst, `,"snapshot":{"resource":`...), s.uri)
	dst = strconv.AppendUint(append(dst, `,"state":{},"fromSeq":`...), s.c.h.Seq(), 10)
	return append(dst, `}}}`...)
}

// receive implements source.
func (s *Stream) receive(m jsonrpc.Message, size int64) {
	s.endpoint.Receive(m.Method, m.Params, size)
	s.c.spent = true
}

// violated implements source.
func (s *Stream) violated(err error) {
	s.c.h.breached(err)
	s.endpoint.Violated(err)
}

// isControl reports whether a notification is neither counted nor framed.
func (s *Stream) isControl(method string) bool { return slices.Contains(s.scheme.Controls, method) }

// endStreams ends the private channels of a connection that is over.
func (c *Conn) endStreams() {
	c.out.mu.Lock()
	var list []*Stream
	for _, s := range c.out.win.streams {
		list = append(list, s)
	}
	c.out.mu.Unlock()
	for _, s := range list {
		if c.out.dropStream(s) {
			func() {
				defer c.h.recovered("private channel", s.uri)
				s.endpoint.Lost()
			}()
		}
	}
}

// unsubscribePrivate ends a private channel for its client. It is false when the
// URI is none of this connection's.
func (c *Conn) unsubscribePrivate(uri ahp.URI) bool {
	s := c.out.stream([]byte(uri))
	if s == nil || !c.out.dropStream(s) {
		return false
	}
	if w := s.w.Load(); w != nil {
		c.discard(w)
	}
	s.endpoint.Unsubscribed()
	return true
}
