package journal

import "github.com/go-json-experiment/json/jsontext"

// Kind says what a record is.
type Kind uint8

// Kinds of record.
const (
	// Mark takes a number without content: a rejection, a message for one
	// connection, or an action of a volatile channel.
	Mark Kind = iota
	// Action is a change of a channel's state.
	Action
	// Created is a new channel; Body is its first state.
	Created
	// Removed is the end of a channel.
	Removed
	// Joined is a client that began a lineage; Body says who it is. It has a
	// number of its own: what answers the client waits for it.
	Joined
	// Forgotten is a lineage that nobody can continue any more.
	Forgotten
	// Noted is a private remark about a channel: Note names it, Body is its
	// text, an empty one takes it away.
	Noted
)

// Origin names the dispatch a record came from. Lineage is what one initialize
// starts and reconnect continues; it never leaves the host.
type Origin struct {
	ClientID  string
	ClientSeq uint64
	Lineage   uint64
}

// Birth is what the Created record of a channel that outlives the process says
// beside the first state.
type Birth struct {
	Parent    string // the channel it belongs to, "" for none
	CreatedAt string // ISO 8601
}

// Record is one entry of the journal. It is immutable once appended. Actions,
// marks and joins have a number of their own; the others carry that of the last
// one before them.
type Record struct {
	Seq     uint64 // serverSeq
	Kind    Kind
	Open    bool // as of this record the channel has work that a restart must close
	Channel string
	Note    string         // of a Noted record
	Body    jsontext.Value // the encoded action, or the first state
	Origin  Origin         // the zero value for the host's own
	Birth   *Birth         // of a Created record; nil: the channel ends with the process
}

// overhead is what a record costs in the ring beside its texts, in bytes.
const overhead = 128

// Size is the memory the record holds, in bytes.
func (r *Record) Size() int {
	return overhead + len(r.Channel) + len(r.Body) + len(r.Origin.ClientID)
}
