package jsonrpc

import "sync/atomic"

// Stats counts what is out of the ordinary on a connection, and says what is
// open. Ordinary messages are not counted here: the carrier does that.
type Stats struct {
	Malformed        uint64 // messages that Scan refused
	Duplicates       uint64 // requests refused because their id was in flight
	Waits            uint64 // times Receive waited for a request to finish
	CancelsReceived  uint64 // cancellations that met a request in flight
	CancelsIgnored   uint64 // cancellations that did not
	CallsCancelled   uint64 // own calls given up
	LateResponses    uint64 // responses to own calls that had settled
	UnknownResponses uint64 // responses to ids this side has never used
	PeerComplaints   uint64 // errors without an id: the peer could not read us
	Panics           uint64 // in handlers
	Unsent           uint64 // messages that Send or Urgent refused

	Calls    int // own calls without an answer now
	Requests int // requests being finished off the reader now
}

// counters are small: a connection that is quiet has them as well. What may happen all
// the time is counted in full.
type counters struct {
	waits                                                           atomic.Uint64
	malformed, duplicates, cancelsReceived, cancelsIgnored          atomic.Uint32
	callsCancelled, lateResponses, unknownResponses, peerComplaints atomic.Uint32
	panics, unsent                                                  atomic.Uint32
}

// Stats returns the counters. Each is read atomically, all together are not.
func (c *Conn) Stats() Stats {
	s := Stats{
		Malformed:        uint64(c.stats.malformed.Load()),
		Duplicates:       uint64(c.stats.duplicates.Load()),
		Waits:            c.stats.waits.Load(),
		CancelsReceived:  uint64(c.stats.cancelsReceived.Load()),
		CancelsIgnored:   uint64(c.stats.cancelsIgnored.Load()),
		CallsCancelled:   uint64(c.stats.callsCancelled.Load()),
		LateResponses:    uint64(c.stats.lateResponses.Load()),
		UnknownResponses: uint64(c.stats.unknownResponses.Load()),
		PeerComplaints:   uint64(c.stats.peerComplaints.Load()),
		Panics:           uint64(c.stats.panics.Load()),
		Unsent:           uint64(c.stats.unsent.Load()),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Calls, s.Requests = len(c.calls), len(c.requests)
	return s
}
