package host

import (
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host/compat"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// continueLineage takes a lineage, with the version that was negotiated for it.
// Who reads the dialect and finds an older one also finds the lineage.
func (c *Conn) continueLineage(l *lineage) {
	c.lineage = l
	c.speaks.Store(uint32(compat.Of(l.version)))
}

// dialect is how the client writes; the canonical one before the handshake.
func (c *Conn) dialect() compat.Dialect { return compat.Dialect(c.speaks.Load()) }

// translations holds the message of an entry in the older dialects, each encoded
// once, by the first writer that needs it.
type translations [compat.Dialects]struct {
	once sync.Once
	msg  []byte
}

// wireIn is wire in a dialect. It is nil when the dialect cannot express the entry.
func (e *entry) wireIn(d compat.Dialect) []byte {
	if d == compat.Canonical {
		return e.wire()
	}
	older := e.older.Load()
	if older == nil {
		e.older.CompareAndSwap(nil, new(translations))
		older = e.older.Load()
	}
	t := &older[d]
	t.once.Do(func() { t.msg = e.translate(d) })
	return t.msg
}

func (e *entry) translate(d compat.Dialect) []byte {
	if e.rec != nil {
		if in := recordIn(d, e.rec); in != nil {
			return appendActionMessage(nil, in, "")
		}
		return nil
	}
	m, err := jsonrpc.Scan(e.wire())
	if err != nil { // the host's own messages can be read
		return nil
	}
	return jsonrpc.AppendNotification(nil, m.Method, d.Notification(m.Method, m.Params))
}

// recordIn is a record with its action in a dialect; nil when the dialect does not
// have the action.
func recordIn(d compat.Dialect, r *journal.Record) *journal.Record {
	if d == compat.Canonical {
		return r
	}
	body := d.Action(r.Body)
	if body == nil {
		return nil
	}
	in := *r
	in.Body = body
	return &in
}

// wireFor is the message of an entry for the client. An own echo is delivered
// whether its dialect has the action or not: the sender waits for it.
func (c *Conn) wireFor(e *entry) []byte {
	msg := e.wireIn(c.dialect())
	if msg == nil && e.rec != nil && c.sent(e.rec) {
		return e.wire()
	}
	return msg
}

// sent reports whether the record is an action of the client's own.
func (c *Conn) sent(r *journal.Record) bool {
	return r.Origin.Lineage != 0 && r.Origin.Lineage == c.lineage.id
}

// inDialect is a record as the client is sent it; nil when it is not.
func (c *Conn) inDialect(r *journal.Record) *journal.Record {
	in := recordIn(c.dialect(), r)
	if in == nil && c.sent(r) {
		return r
	}
	return in
}

// appendAction appends an action notification for the client, which is sent one
// whatever its dialect.
func (c *Conn) appendAction(r *journal.Record, rejection string) []byte {
	if in := c.inDialect(r); in != nil {
		r = in
	}
	return appendActionMessage(nil, r, rejection)
}

// see is a view as the client is shown it.
func (c *Conn) see(v view) view {
	v.dialect = c.dialect()
	return v
}

// translated wraps the answer to a request: its result is written in the client's
// dialect.
func (c *Conn) translated(method string, r jsonrpc.Reply) jsonrpc.Reply {
	d := c.dialect()
	if d == compat.Canonical || method != ahp.MethodListSessions || r.Result == nil {
		return r
	}
	raw, err := ahp.Marshal(r.Result)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	r.Result = d.Result(method, raw)
	return r
}
