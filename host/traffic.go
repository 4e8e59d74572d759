package host

import (
	"bytes"
	"maps"
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/metric"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// traffic counts the messages of all connections by kind: the method of a request or a
// notification, or one of the kinds below. The set is closed when the host starts, so
// that nothing a client sends adds to what is shown.
type traffic struct {
	in, out *metric.Table
	// heads are how notifications of each kind begin: most messages are of the kind of
	// the one before, and are known by it.
	heads [][]byte

	// The places of kinds that have no method.
	inResponse, inMalformed, inOther, outResponse, outOther int
}

// Kinds without a method.
const (
	kindResponse  = "response"
	kindMalformed = "malformed"
	kindOther     = "other" // any method that is not in the set
)

// hostReceives and hostSends are the methods of the host itself and of the channels it
// carries. Requests and declared notifications of features are added.
var (
	hostReceives = []string{
		ahp.MethodInitialize, ahp.MethodReconnect, ahp.MethodPing, ahp.MethodSubscribe, ahp.MethodUnsubscribe,
		ahp.MethodDispatchAction, ahp.MethodChannelFrame, ahp.MethodChannelCredit, ahp.MethodChannelReset,
		ahp.MethodChannelReady, ahp.MethodTCPData, ahp.MethodTCPEOF, ahp.MethodTCPReset, jsonrpc.MethodCancel,
	}
	hostSends = []string{
		ahp.MethodAction, ahp.MethodSessionAdded, ahp.MethodSessionRemoved, ahp.MethodSessionSummaryChanged,
		ahp.MethodProgress, ahp.MethodExportLogs, ahp.MethodExportTraces, ahp.MethodExportMetrics, ahp.MethodChannelSnapshot, ahp.MethodChannelFrame, ahp.MethodChannelCredit,
		ahp.MethodTCPData, ahp.MethodTCPEOF, ahp.MethodTCPReset, ahp.MethodClientServiceNotification,
		ahp.MethodClientServiceHandle, jsonrpc.MethodCancel,
	}
)

func newTraffic(h *Host, r *Registry) *traffic {
	receives := slices.Concat(hostReceives, slices.Collect(maps.Keys(r.requests)), slices.Collect(maps.Keys(r.notifications)))
	t := &traffic{
		in: metric.NewTable(
			namespace+"_messages_received_total", "Messages received, by method or kind.",
			namespace+"_received_bytes_total", "Bytes of messages received, by method or kind.",
			closedSet(receives, kindResponse, kindMalformed, kindOther),
			h.runs(func(c *Conn) *metric.Run { return &c.received })),
		out: metric.NewTable(
			namespace+"_messages_sent_total", "Messages sent, by method or kind.",
			namespace+"_sent_bytes_total", "Bytes of messages sent, by method or kind.",
			closedSet(hostSends, kindResponse, kindOther),
			h.runs(func(c *Conn) *metric.Run { return &c.sentRun })),
	}
	t.inResponse, _ = t.in.Index(kindResponse)
	t.inMalformed, _ = t.in.Index(kindMalformed)
	t.inOther, _ = t.in.Index(kindOther)
	t.outResponse, _ = t.out.Index(kindResponse)
	t.outOther, _ = t.out.Index(kindOther)
	for i := range t.out.Len() {
		t.heads = append(t.heads, []byte(notificationHead+t.out.Name(i)+`"`))
	}
	return t
}

// runs visits what the connections count at the moment.
func (h *Host) runs(of func(*Conn) *metric.Run) func(each func(*metric.Run)) {
	return func(each func(*metric.Run)) {
		h.mu.Lock()
		conns := h.connsLocked()
		h.mu.Unlock()
		for _, c := range conns {
			each(of(c))
		}
	}
}

// closedSet is the sorted set of methods, and the kinds behind it.
func closedSet(methods []string, kinds ...string) []string {
	methods = slices.Clone(methods)
	slices.Sort(methods)
	return append(slices.Compact(methods), kinds...)
}

// How the messages that jsonrpc encodes begin.
const (
	notificationHead = `{"jsonrpc":"2.0","method":"`
	callHead         = `{"jsonrpc":"2.0","id":` // of requests and responses
	methodMember     = `,"method":"`
)

// countReceived counts the message that was received last. It is the reader's.
func (c *Conn) countReceived(size int) {
	kind, method := c.rpc.Received()
	t := c.h.traffic
	i := c.readKind
	switch {
	case kind == jsonrpc.KindResponse:
		i = t.inResponse
	case kind == 0:
		i = t.inMalformed
	case method != c.readMethod || method == "":
		known := false
		if i, known = t.in.Index(method); !known {
			i, method = t.inOther, "" // which a peer chose: not worth keeping
		}
		c.readKind, c.readMethod = i, method
	}
	c.received.Add(t.in, i, 1, size)
}

// countSent counts what was written, one run of the same kind at a time. It is the
// writer's.
func (c *Conn) countSent(batch [][]byte) {
	t, kind, n, size := c.h.traffic, c.wroteKind, 0, 0
	for _, msg := range batch {
		if !bytes.HasPrefix(msg, t.heads[kind]) {
			if next := t.kindOf(msg); next != kind {
				if n > 0 {
					c.sentRun.Add(t.out, kind, n, size)
				}
				kind, n, size = next, 0, 0
			}
		}
		n++
		size += len(msg)
	}
	c.sentRun.Add(t.out, kind, n, size)
	if kind != c.wroteKind {
		c.wroteKind = kind
	}
}

// endCounts hands over what the connection has counted. Nothing is read or written any
// more.
func (c *Conn) endCounts() {
	c.received.End(c.h.traffic.in)
	c.sentRun.End(c.h.traffic.out)
}

// kindOf tells what a message is that was made here. Requests have numbers for ids
// (jsonrpc.Conn), so whatever has another one is a response.
func (t *traffic) kindOf(msg []byte) int {
	name, ok := bytes.CutPrefix(msg, []byte(notificationHead))
	if !ok {
		rest, _ := bytes.CutPrefix(msg, []byte(callHead))
		if name, ok = bytes.CutPrefix(bytes.TrimLeft(rest, "0123456789"), []byte(methodMember)); !ok {
			return t.outResponse
		}
	}
	if end := bytes.IndexByte(name, '"'); end >= 0 {
		if i, known := t.out.Index(string(name[:end])); known {
			return i
		}
	}
	return t.outOther
}
