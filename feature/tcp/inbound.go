package tcp

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// writeBytes is about how much one system write is given, so that credit goes
// back as the bytes leave.
const writeBytes = 128 << 10

// receiveData queues the bytes of a tcp/data for the destination. They are decoded
// into chunks, so that nothing of the message is kept.
func (c *connection) receiveData(params jsontext.Value, size int64) {
	text, ok := c.text.encoded(params)
	if !ok || len(text) == 0 {
		c.abort(endInvalid, true)
		return
	}
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	n, ok := 0, !c.inEnd // data after the end is against the rules
	if ok {
		n, ok = c.storeLocked(text)
	}
	if !ok {
		c.mu.Unlock()
		c.abort(endInvalid, true)
		return
	}
	c.in[len(c.in)-1].size += size
	c.wakeWriterLocked()
	c.mu.Unlock()
	c.f.count.toDest.Add(float64(n))
}

// storeLocked decodes into the last chunk, or new ones.
func (c *connection) storeLocked(text []byte) (n int, ok bool) {
	n = decodedLen(text)
	if n > chunkBytes { // it came in frames
		raw, ok := decode(text, text)
		for len(raw) > 0 {
			last := c.addChunkLocked()
			last.w = copy(last.data[:], raw)
			raw = raw[last.w:]
		}
		return n, ok
	}
	last := c.lastWithRoomLocked(n)
	raw, ok := decode(last.data[last.w:last.w+n], text)
	last.w += len(raw)
	return n, ok
}

func (c *connection) lastWithRoomLocked(n int) *chunk {
	if k := len(c.in); k > 0 && chunkBytes-c.in[k-1].w >= n {
		return c.in[k-1]
	}
	return c.addChunkLocked()
}

func (c *connection) addChunkLocked() *chunk {
	last := takeChunk()
	c.in = append(c.in, last)
	return last
}

// receiveEnd notes that the client sends no more. A second end is against the
// rules.
func (c *connection) receiveEnd(size int64) {
	c.mu.Lock()
	switch {
	case c.over:
		c.mu.Unlock()
	case c.inEnd:
		c.mu.Unlock()
		c.abort(endInvalid, true)
	default:
		c.inEnd, c.endSize = true, size
		c.wakeWriterLocked()
		c.mu.Unlock()
	}
}

// wakeWriterLocked starts writeLoop unless it lives.
func (c *connection) wakeWriterLocked() {
	if !c.writing {
		c.writing = true
		c.f.running.Go(c.writeLoop)
	}
}

// writeLoop writes what waits for the destination, and ends when nothing does.
func (c *connection) writeLoop() {
	var batch []*chunk
	var bufs net.Buffers
	for {
		var last bool
		if batch, last = c.nextBatch(batch[:0]); len(batch) == 0 && !last {
			return
		}
		size, err := c.writeBatch(batch, bufs[:0])
		if err == nil && last {
			err = c.sock.CloseWrite()
		}
		if err != nil {
			c.failed(err)
			return
		}
		c.stream.Release(size)
		if last {
			c.finishWriting()
			return
		}
	}
}

// writeBatch writes chunks and gives them back. They are the loop's alone.
func (c *connection) writeBatch(batch []*chunk, bufs net.Buffers) (size int64, err error) {
	for _, ch := range batch {
		size += ch.size
		bufs = append(bufs, ch.data[:ch.w])
	}
	if !c.drains() {
		bufs, err = writeAll(c.sock, bufs)
	}
	if len(bufs) > 0 && (err == nil || errors.Is(err, os.ErrDeadlineExceeded)) {
		err = c.writePieces(bufs)
	}
	for i, ch := range batch {
		giveChunk(ch)
		batch[i] = nil
	}
	return size, err
}

// writeAll writes and returns what could not be written.
func writeAll(w io.Writer, bufs net.Buffers) (net.Buffers, error) {
	if len(bufs) != 1 {
		_, err := bufs.WriteTo(w)
		return bufs, err
	}
	n, err := w.Write(bufs[0])
	if bufs[0] = bufs[0][n:]; len(bufs[0]) == 0 {
		bufs = nil
	}
	return bufs, err
}

// drainPiece is what a destination takes of what is left while it is seen to go on.
const drainPiece = 16 << 10

// writePieces writes so that it shows when the destination takes more. A write that
// was under way when the drain began was cut short for that.
func (c *connection) writePieces(bufs net.Buffers) error {
	if err := c.sock.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	for _, buf := range bufs {
		for piece := range slices.Chunk(buf, drainPiece) {
			if _, err := c.sock.Write(piece); err != nil {
				return err
			}
			c.mu.Lock()
			c.taken = time.Now()
			c.mu.Unlock()
		}
	}
	return nil
}

// drains reports whether the client has left in order and only the rest is written.
func (c *connection) drains() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// nextBatch takes about writeBytes of what waits, and reports whether the end
// follows it. Without either the loop is over.
func (c *connection) nextBatch(batch []*chunk) (_ []*chunk, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := 0
	for total < writeBytes && len(batch) < len(c.in) {
		total += c.in[len(batch)].w
		batch = append(batch, c.in[len(batch)])
	}
	rest := copy(c.in, c.in[len(batch):])
	clear(c.in[rest:])
	c.in = c.in[:rest]
	last = c.inEnd && rest == 0 && !c.over
	if len(batch) == 0 && !last {
		c.writing = false
	}
	return batch, last
}

// finishWriting notes that the destination was told the end.
func (c *connection) finishWriting() {
	c.mu.Lock()
	c.inDone, c.writing = true, false
	size := c.endSize
	c.mu.Unlock()
	c.stream.Release(size)
	c.settle()
}
