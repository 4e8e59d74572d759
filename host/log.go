package host

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// entry is one message of a channel's log: an envelope, or a notification to
// the channel's subscribers. The log is a linked list that readers follow
// without a lock; what nobody can reach any more is collected.
type entry struct {
	// place orders everything the host sends. It is unique and rises.
	place uint64
	// seq is the envelope's number, for a notification the last one before it.
	seq  uint64
	cost int64 // about the bytes on the wire
	cum  int64 // cost of the log up to and with this entry
	nth  int64 // how many entries the log has up to and with this one

	next atomic.Pointer[entry]

	came   int64           // when the dispatch was read that it comes from, 0 for none; see Host.clock
	rec    *journal.Record // nil for a notification
	method string          // of a notification that is not encoded yet
	params any
	once   sync.Once
	msg    []byte
	older  atomic.Pointer[translations] // nil until an older client needs it

	// about is the session a notification of the root channel speaks of, ""
	// for everything else: who may not see it is not told.
	about ahp.URI
}

// envelopeOverhead is about what an envelope adds to its action, in bytes;
// notificationCost is about a notification of the host's own.
const (
	envelopeOverhead = 160
	notificationCost = 400
)

// wire returns the complete message, nil if it cannot be encoded. It is encoded
// once, by the first writer that needs it.
func (e *entry) wire() []byte {
	e.once.Do(func() {
		switch {
		case e.rec != nil:
			e.msg = appendActionMessage(nil, e.rec, "")
		case e.params != nil:
			if body, err := ahp.Marshal(e.params); err == nil { // the host's own params always encode
				e.msg = jsonrpc.AppendNotification(nil, e.method, body)
			}
			e.params = nil
		}
	})
	return e.msg
}

const actionPrefix = `{"jsonrpc":"2.0","method":"action","params":`

// appendActionMessage appends the action notification of a record.
func appendActionMessage(dst []byte, r *journal.Record, rejection string) []byte {
	if dst == nil {
		dst = make([]byte, 0, len(actionPrefix)+len(r.Channel)+len(r.Body)+len(r.Origin.ClientID)+len(rejection)+envelopeOverhead)
	}
	dst = append(dst, actionPrefix...)
	dst = appendEnvelope(dst, r, rejection)
	return append(dst, '}')
}

// appendEnvelope appends the envelope of a record.
func appendEnvelope(dst []byte, r *journal.Record, rejection string) []byte {
	dst = append(dst, `{"channel":`...)
	dst = appendString(dst, r.Channel)
	dst = append(dst, `,"action":`...)
	dst = append(dst, r.Body...)
	dst = append(dst, `,"serverSeq":`...)
	dst = strconv.AppendUint(dst, r.Seq, 10)
	if r.Origin.ClientID != "" {
		dst = append(dst, `,"origin":{"clientId":`...)
		dst = appendString(dst, r.Origin.ClientID)
		dst = append(dst, `,"clientSeq":`...)
		dst = strconv.AppendUint(dst, r.Origin.ClientSeq, 10)
		dst = append(dst, '}')
	}
	if rejection != "" {
		dst = append(dst, `,"rejectionReason":`...)
		dst = appendString(dst, rejection)
	}
	return append(dst, '}')
}

// appendString appends a JSON string; what is not UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// channel is one channel of the host.
type channel struct {
	uri    ahp.URI
	scheme *Scheme
	parent *channel // the session of a chat, nil otherwise

	// The sequencer's lock guards these.
	born     uint64 // the last number before the channel was made
	state    any
	tail     *entry // the newest entry; a log begins with an empty one
	children map[ahp.URI]*channel
	session  *sessionRecord // of a session channel
	effects  effectQueue
	own      map[Principal]*channel // of a PerPrincipal kind: what is subscribed to

	// Of a channel in own: where it belongs. Set once.
	whole *channel
	owner Principal
	kept  *kept // what the archive has of it, nil for what ends with the process

	// subs is replaced as a whole under the sequencer's lock and read without.
	subs atomic.Pointer[[]*subscription]

	snapshots snapshotCache
}

func newChannel(uri ahp.URI, scheme *Scheme, state any, parent *channel) *channel {
	return &channel{uri: uri, scheme: scheme, state: state, parent: parent, tail: &entry{}}
}

// appendLocked puts e at the end of the log.
func (ch *channel) appendLocked(e *entry) {
	e.cum, e.nth = ch.tail.cum+e.cost, ch.tail.nth+1
	ch.tail.next.Store(e)
	ch.tail = e
}

func (ch *channel) subscribers() []*subscription {
	if p := ch.subs.Load(); p != nil {
		return *p
	}
	return nil
}

func (ch *channel) addSubscriberLocked(s *subscription) {
	ch.keepLocked()
	old := ch.subscribers()
	list := append(make([]*subscription, 0, len(old)+1), old...)
	list = append(list, s)
	ch.subs.Store(&list)
}

func (ch *channel) removeSubscriberLocked(s *subscription) {
	old := ch.subscribers()
	list := make([]*subscription, 0, len(old))
	for _, o := range old {
		if o != s {
			list = append(list, o)
		}
	}
	ch.subs.Store(&list)
	if len(list) == 0 {
		ch.dropLocked()
	}
}

// newSubscription makes a cursor at the end of the log.
func newSubscription(ch *channel, c *Conn) *subscription {
	s := &subscription{ch: ch, conn: c, last: ch.tail}
	s.counted.Store(ch.tail)
	return s
}

// subscription is one connection's place in one channel's log.
type subscription struct {
	ch   *channel
	conn *Conn

	win *logSource // nil for ordinary delivery

	// counted is the newest entry the outbox has accounted for.
	counted atomic.Pointer[entry]

	// The outbox's lock guards these.
	last  *entry // the newest entry that was taken
	ended bool   // the channel is gone; drop the subscription when drained
}
