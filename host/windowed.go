package host

import (
	"strconv"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// source is one end of a windowed subscription inside the host: where its data
// comes from and where the client's goes to.
type source interface {
	// next returns the next data message, appended to dst or not, with its size
	// and what to call once its last frame was taken. Size zero means that there
	// is none; waitFor is then the number that must be committed first. The
	// writer alone calls it.
	next(dst []byte, maxFrame int64) (msg []byte, size int64, taken func(), waitFor uint64)
	// receive acts on a data message of the client, on the reader, and releases
	// size when it has done with it.
	receive(m jsonrpc.Message, size int64)
	// violated ends the subscription, because its client broke a rule.
	violated(err error)
}

// windowed is one windowed subscription of a connection (AHP core, 12): a window
// each way and the message that is being cut or joined.
type windowed struct {
	conn *Conn
	uri  ahp.URI
	src  source

	maxFrame int64 // the client's limit for one of our frames

	// The outbox's lock guards these.
	window flow.Window
	open   bool  // the answer to the subscribe has left, so data may
	over   bool  // nothing is sent any more
	owing  bool  // owed waits to be sent
	owed   int64 // the newest credit to tell

	// Only the writer touches these.
	frames flow.Fragmenter // of the message on its way
	whole  int64           // its bytes, if it leaves in frames
	taken  func()          // called when that has left as a whole

	// Only the reader touches this.
	join flow.Reassembler

	// mu guards the client's window: whoever has consumed something releases it.
	// It is a leaf.
	mu       sync.Mutex
	credit   flow.Credit
	handed   int64 // given to the source and not released yet
	deferred int64 // frames to release once handed is back at zero
}

// newWindowed makes a subscription that is not open yet. Both limits are valid.
func newWindowed(c *Conn, uri ahp.URI, src source, toClient, toHost flow.Limits) *windowed {
	return &windowed{
		conn: c, uri: uri, src: src, maxFrame: toClient.MaxFrameBytes,
		window: flow.NewWindow(toClient), credit: flow.NewCredit(toHost),
		join: flow.NewReassembler(c.h.limits.ReassemblyBytes),
	}
}

// arrived counts a wire message of the client.
func (w *windowed) arrived(size int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.credit.Receive(size)
}

// hand notes that a message is with the source now.
func (w *windowed) hand(size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handed += size
}

// release gives back what the source has consumed of what it was handed.
func (w *windowed) release(size int64) {
	w.mu.Lock()
	w.handed -= size
	if w.handed == 0 {
		size, w.deferred = size+w.deferred, 0
	}
	w.giveBackLocked(size)
}

// buffered gives back a frame that stands in the reassembly buffer; otherwise a
// message larger than the window could never be complete (AHP core, 12.5). While
// the source still holds earlier messages it is kept back: the buffer is bounded
// only together with what came out of it before.
func (w *windowed) buffered(size int64) {
	w.mu.Lock()
	if w.handed > 0 {
		w.deferred += size
		w.mu.Unlock()
		return
	}
	w.giveBackLocked(size)
}

// giveBackLocked releases size bytes, unlocks, and sends the credit that is due.
func (w *windowed) giveBackLocked(size int64) {
	err := w.credit.Release(size)
	consumed, due := w.credit.Take()
	w.mu.Unlock()
	if err != nil { // a source that released twice: its own mistake
		w.conn.h.log.Error("release", "channel", w.uri, "err", err)
	}
	if due {
		w.conn.out.owe(w, consumed)
	}
}

// limits is the window each way as the wire has it.
func (w *windowed) limits() ahp.FlowControl {
	return ahp.FlowControl{ClientReceive: wireLimits(w.window.Limits()), HostReceive: wireLimits(w.credit.Limits())}
}

func wireLimits(l flow.Limits) ahp.ChannelReceiveLimits {
	return ahp.ChannelReceiveLimits{WindowBytes: l.WindowBytes, MaximumFrameBytes: l.MaxFrameBytes}
}

// frame returns the next wire message: a whole message or a piece of one. Size is
// zero when there is none.
func (w *windowed) frame(dst []byte) (msg []byte, size int64, waitFor uint64, err error) {
	if w.frames.Done() {
		msg, size, w.taken, waitFor = w.src.next(dst, w.maxFrame)
		if size <= w.maxFrame {
			return msg, size, waitFor, nil
		}
		if w.frames, err = flow.NewFragmenter(msg, frameEnvelope(w.uri), w.maxFrame); err != nil {
			return nil, 0, 0, err
		}
		w.whole = int64(len(msg))
	}
	msg, size = w.frames.AppendNext(dst)
	return msg, size, 0, nil
}

// left is called when a frame is sure to be sent.
func (w *windowed) left() {
	switch done := w.frames.Done(); {
	case w.whole == 0:
	case done:
		w.conn.h.cuts.drop(w)
		w.whole = 0
	default:
		w.conn.h.cuts.move(w, w.whole)
	}
	if w.taken != nil && w.frames.Done() {
		w.taken()
		w.taken = nil
	}
}

// frameEnvelope is the text around the pieces of a message of the channel.
func frameEnvelope(uri ahp.URI) flow.Envelope {
	before := appendString([]byte(`{"jsonrpc":"2.0","method":"channel/frame","params":{"channel":`), uri)
	return flow.Envelope{Before: append(before, `,"data":"`...), After: []byte(`"}}`), Last: []byte(`","final":true}}`)}
}

// fitsFrames reports whether messages of the channel can be cut for a receiver.
func fitsFrames(uri ahp.URI, maxFrame int64) bool {
	_, err := flow.NewFragmenter([]byte("x"), frameEnvelope(uri), maxFrame)
	return err == nil
}

// appendCredit appends a credit message.
func appendCredit(dst []byte, uri ahp.URI, consumed int64) []byte {
	dst = appendString(append(dst, `{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":`...), uri)
	dst = strconv.AppendInt(append(dst, `,"consumedBytes":`...), consumed, 10)
	return append(dst, `}}`...)
}
