package transport

// Kind names a carrier, for logs and metrics.
type Kind string

// The carriers of this module.
const (
	KindWebSocket Kind = "websocket"
	KindStdio     Kind = "stdio"
	KindMemory    Kind = "memory"
)

// Conn carries whole text messages, both ways, in order.
//
// One goroutine may read while another writes, and any number may call Close
// and the describing methods. When the connection is over, Read and Write
// report the same first cause: a *CloseError where a close was sent, received
// or forced, another error where the carrier broke.
type Conn interface {
	// Read waits for the next whole message. The slice belongs to the caller.
	// At most one Read may be running. After an error every later Read fails.
	Read() ([]byte, error)

	// Write sends all messages of the batch in order, in as few system writes
	// as the carrier allows, and may block while the peer does not take them.
	// It keeps no slice after it returned. The messages must be valid UTF-8
	// (AHP core, 1); this is not checked here, since their encoder knows.
	// At most one Write may be running. An error leaves open how many messages
	// of the batch arrived; unless it says otherwise the connection is over.
	Write(batch [][]byte) error

	// Close ends the connection, with code and reason where the carrier can
	// tell them to the peer, and waits a bounded time for the peer's answer.
	// It unblocks Read and Write and returns when every goroutine of the
	// connection has ended. Later calls wait for the first and do nothing. It
	// must also be called after Read or Write failed, to release what is left.
	Close(code Code, reason string) error

	// RemoteAddr describes the peer for logs; it is no identity.
	RemoteAddr() string

	// Kind names the carrier.
	Kind() Kind
}

// Recycler is a Conn that can put a message into the memory of one that is done
// with. It spares the collector a message each where nothing is kept of what was
// read.
type Recycler interface {
	// ReadOver is Read, and takes back spent before: what an earlier Read returned
	// and nobody uses any more. Nil takes nothing back.
	ReadOver(spent []byte) ([]byte, error)
}

// Reader is c as a Recycler: itself, or one that does without.
func Reader(c Conn) Recycler {
	if r, ok := c.(Recycler); ok {
		return r
	}
	return reader{c}
}

type reader struct{ c Conn }

func (r reader) ReadOver([]byte) ([]byte, error) { return r.c.Read() }
