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
)

// Origin names the dispatch a record came from. Lineage is what one initialize
// starts and reconnect continues; it never leaves the host.
type Origin struct {
	ClientID  string
	ClientSeq uint64
	Lineage   uint64
}

// Record is one entry of the journal. It is immutable once appended; Created
// and Removed records carry the number of the last action before them.
type Record struct {
	Seq     uint64 // serverSeq
	Kind    Kind
	Channel string
	Body    jsontext.Value // the encoded action, or the first state
	Origin  Origin         // the zero value for the host's own
}

// overhead is what a record costs in the ring beside its texts, in bytes.
const overhead = 128

// Size is the memory the record holds, in bytes.
func (r *Record) Size() int {
	return overhead + len(r.Channel) + len(r.Body) + len(r.Origin.ClientID)
}
