package client

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// subscription is this end of one windowed subscription on one connection (AHP
// core, 12): what may be sent, what was received and not yet released, and the
// message that is being put together. It ends with the connection.
type subscription struct {
	l     *link
	uri   ahp.URI
	sink  sink
	offer flow.Limits
	frame flow.Envelope // the text around the pieces of what is sent in frames

	// Only the reader touches these.
	parts flow.Reassembler
	begun bool // the snapshot is there, or none is to come

	// mu is a leaf and guards what follows.
	mu     sync.Mutex
	credit flow.Credit
	soon   *time.Timer // armed while a credit waits for others to join it

	// The client's lock guards these.
	open     bool // the host has accepted and the subscription has not ended
	window   flow.Window
	consumed int64 // the newest credit that is due
	owing    bool  // it is in link.owing
}

// sink is what a subscription delivers to. Its methods run on the reader, without
// a lock unless the name says so.
type sink interface {
	// take takes one data message, and gives its size back to
	// subscription.release when it has given up the room. An error ends the
	// subscription.
	take(m jsonrpc.Message, size int64) error
	// moved is told that a frame of that size stands in the reassembly buffer,
	// and gives the size back like take.
	moved(size int64)
	// creditedLocked is told that there may be room to send.
	creditedLocked()
	// over is told that the host, or what it sent, ended the subscription.
	over(cause error)
}

// Ways to break the rules of windowed delivery that package flow does not see.
var (
	errNoSnapshot      = errors.New("the first data message is not the snapshot")
	errForeignSnapshot = errors.New("the snapshot is of another channel")
	errBadParams       = errors.New("unreadable params")
	errResetByHost     = errors.New("ended by the host")
)

// creditDelay is how long a credit that nobody can be waiting for may wait for
// others to join it.
const creditDelay = 5 * time.Millisecond

// maxOwnFrame bounds the frames sent to a host that would take larger ones, so
// that subscriptions take short turns.
const maxOwnFrame = 256 << 10

func newSubscription(l *link, uri ahp.URI, offer flow.Limits, ceiling int64, to sink) *subscription {
	quoted, _ := jsontext.AppendQuote(nil, uri)
	before := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"channel":%s,"data":"`, ahp.MethodChannelFrame, quoted)
	return &subscription{
		l: l, uri: uri, sink: to, offer: offer, parts: flow.NewReassembler(ceiling),
		frame: flow.Envelope{Before: before, After: []byte(`"}}`), Last: []byte(`","final":true}}`)},
	}
}

// accept opens the subscription with what the host answered to the offer (AHP
// core, 12.3). It runs on the reader, before what follows the answer is read.
func (s *subscription) accept(fc *ahp.FlowControl) error {
	receive, send := limits(fc.ClientReceive), limits(fc.HostReceive)
	if err := flow.CheckAccepted(s.offer, receive); err != nil {
		return err
	}
	send, err := flow.Lower(send, flow.Limits{WindowBytes: max(1, send.WindowBytes), MaxFrameBytes: maxOwnFrame})
	if err != nil {
		return err
	}
	if _, err := flow.NewFragmenter([]byte("?"), s.frame, send.MaxFrameBytes); err != nil {
		return err // not even one character fits beside the URI
	}
	s.mu.Lock()
	s.credit = flow.NewCredit(receive)
	s.mu.Unlock()
	s.l.c.mu.Lock()
	defer s.l.c.mu.Unlock()
	s.window, s.open = flow.NewWindow(send), true
	return nil
}

func limits(l ahp.ChannelReceiveLimits) flow.Limits {
	return flow.Limits{WindowBytes: l.WindowBytes, MaxFrameBytes: l.MaximumFrameBytes}
}

// kindOf tells data from control (AHP core, 12.2).
func kindOf(method string) flow.Kind {
	switch method {
	case ahp.MethodChannelCredit, ahp.MethodChannelReset, ahp.MethodChannelReady, ahp.MethodTCPReset, ahp.MethodUnsubscribe:
		return flow.Control
	case ahp.MethodChannelFrame:
		return flow.Frame
	}
	return flow.Data
}

// receive takes one notification of the channel, of that size as it was sent.
func (s *subscription) receive(m jsonrpc.Message, size int64) {
	var err error
	switch m.Method {
	case ahp.MethodChannelCredit:
		err = s.credited(m.Params)
	case ahp.MethodChannelReset, ahp.MethodTCPReset:
		err = errResetByHost
	case ahp.MethodChannelReady, ahp.MethodUnsubscribe: // nothing to do for a client
	default:
		err = s.data(m, size)
	}
	if err != nil {
		s.sink.over(err)
	}
}

// credited takes a channel/credit.
func (s *subscription) credited(params jsontext.Value) error {
	raw, _ := jsonrpc.Member(params, "consumedBytes")
	consumed, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", ahp.MethodChannelCredit, errBadParams)
	}
	s.l.c.mu.Lock()
	defer s.l.c.mu.Unlock()
	freed, err := s.window.Credit(consumed)
	if freed > 0 {
		s.sink.creditedLocked()
	}
	return err
}

// data takes a data message, whole or in frames.
func (s *subscription) data(m jsonrpc.Message, size int64) error {
	s.mu.Lock()
	err := s.credit.Receive(size)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if m.Method == ahp.MethodChannelFrame {
		return s.piece(m.Params, size)
	}
	if err := s.parts.Whole(); err != nil {
		return err
	}
	return s.deliver(m, size)
}

// piece takes one frame (AHP core, 12.4, 2).
func (s *subscription) piece(params jsontext.Value, size int64) error {
	raw, _ := jsonrpc.Member(params, "data")
	text, ok := jsonrpc.StringBytes(raw)
	if !ok {
		return fmt.Errorf("%s: %w", ahp.MethodChannelFrame, errBadParams)
	}
	last, _ := jsonrpc.Member(params, "final")
	whole, err := s.parts.Add(text, string(last) == "true")
	if err != nil {
		return err
	}
	s.sink.moved(size)
	if whole == nil {
		return nil
	}
	inner, err := jsonrpc.Scan(whole)
	if err != nil || inner.Kind != jsonrpc.KindNotification {
		return flow.CheckInner(s.uri, flow.Control, "")
	}
	raw, _ = jsonrpc.Member(inner.Params, "channel")
	uri, _ := jsonrpc.StringValue(raw)
	if err := flow.CheckInner(s.uri, kindOf(inner.Method), uri); err != nil {
		return err
	}
	return s.deliver(inner, 0)
}

// deliver hands a complete data message on. The first one is the snapshot (AHP
// core, 12.4, 1).
func (s *subscription) deliver(m jsonrpc.Message, size int64) error {
	if !s.begun && m.Method != ahp.MethodChannelSnapshot {
		return errNoSnapshot
	}
	s.begun = true
	return s.sink.take(m, size)
}

// readChannelSnapshot reads a channel/snapshot (AHP core, 12.4, 1).
func (s *subscription) readChannelSnapshot(params jsontext.Value) (*ahp.Snapshot, error) {
	var p ahp.ChannelSnapshotParams
	if err := ahp.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", ahp.MethodChannelSnapshot, err)
	}
	if p.Snapshot.Resource != s.uri {
		return nil, errForeignSnapshot
	}
	return &p.Snapshot, nil
}

// release gives back received bytes. It may be called from any goroutine, without
// a lock. Credit for a quarter of the window goes out at once; less waits a
// moment for more, since a sender that waits has a whole window outstanding.
func (s *subscription) release(size int64) {
	if size == 0 {
		return
	}
	s.mu.Lock()
	_ = s.credit.Release(size) // a sink never releases more than it was given
	consumed, due := s.credit.TakeQuarter()
	switch {
	case due && s.soon != nil:
		s.soon.Stop()
	case !due && s.credit.Held() == 0 && s.soon == nil:
		s.soon = time.AfterFunc(creditDelay, s.late)
	case !due && s.credit.Held() == 0:
		s.soon.Reset(creditDelay)
	}
	s.mu.Unlock()
	if due {
		s.owe(consumed)
	}
}

// late sends the credit that has waited.
func (s *subscription) late() {
	s.mu.Lock()
	consumed, due := s.credit.Take()
	s.mu.Unlock()
	if due {
		s.owe(consumed)
	}
}

// owe queues a credit. The newest one says it all.
func (s *subscription) owe(consumed int64) {
	l := s.l
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if !s.open || l.dropped {
		return
	}
	s.consumed = max(s.consumed, consumed)
	if !s.owing {
		s.owing = true
		l.owing = append(l.owing, s)
	}
	l.wakeLocked()
}

// appendCredit appends the channel/credit that is due.
func (s *subscription) appendCredit(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":`...)
	dst, _ = jsontext.AppendQuote(dst, s.uri)
	dst = append(dst, `,"consumedBytes":`...)
	dst = strconv.AppendInt(dst, s.consumed, 10)
	return append(dst, "}}"...)
}
