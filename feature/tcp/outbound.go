package tcp

import (
	"errors"
	"io"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// readLoop moves what the destination sends into chunks, until it ends. It waits
// while there are maxChunks, so that a full window stops the destination too.
func (c *connection) readLoop() {
	var parked [parkedBytes]byte
	burst := false
	for {
		buf, ok := c.reserve(burst)
		if !ok {
			return
		}
		if buf == nil {
			buf = parked[:]
		}
		n, err := c.sock.Read(buf)
		burst = n == len(buf)
		c.commit(buf, n)
		switch {
		case errors.Is(err, io.EOF):
			c.finishReading()
			return
		case err != nil:
			c.failed(err)
			return
		}
	}
}

// reserve waits for room. It returns nil instead of a place to read to when a
// small buffer will do, since the last read did not fill one: a connection that
// waits for its destination holds no chunk. It is false when the connection is
// over.
func (c *connection) reserve(burst bool) (buf []byte, ok bool) {
	for {
		c.mu.Lock()
		if c.over {
			c.mu.Unlock()
			return nil, false
		}
		if !burst && c.parkedFitsLocked() {
			c.mu.Unlock()
			return nil, true
		}
		if burst {
			if buf = c.placeLocked(); buf != nil {
				c.reading = true
				c.mu.Unlock()
				return buf, true
			}
		}
		c.mu.Unlock()
		<-c.room
	}
}

// parkedFitsLocked reports whether a small buffer can be taken over.
func (c *connection) parkedFitsLocked() bool {
	n := len(c.out)
	return n < maxChunks || c.usable()-c.out[n-1].w >= parkedBytes
}

// placeLocked returns the free end of the last chunk, or a new one; nil without
// room.
func (c *connection) placeLocked() []byte {
	if n := len(c.out); n > 0 {
		if last := c.out[n-1]; last.w < c.usable() {
			return last.data[last.w:c.usable()]
		}
		if n == maxChunks {
			return nil
		}
	}
	last := takeChunk()
	c.out = append(c.out, last)
	return last.data[:c.usable()]
}

// usable is how much of a chunk is filled: whole messages, so that none is sent
// for a small rest.
func (c *connection) usable() int {
	if p := c.text.payload; p > 0 && p < chunkBytes {
		return chunkBytes - chunkBytes%p
	}
	return chunkBytes
}

// commit makes n bytes that were read into buf ready to be sent: the end of the
// last chunk if it was reserved, the small buffer otherwise.
func (c *connection) commit(buf []byte, n int) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	switch {
	case c.reading:
		c.reading = false
		c.out[len(c.out)-1].w += n
		c.trimLocked()
	case n > 0:
		c.placeParkedLocked(buf[:n])
	}
	c.mu.Unlock()
	if n > 0 {
		c.f.count.toClient.Add(float64(n))
		c.stream.Ready()
	}
}

// placeParkedLocked copies a small read behind what waits. There is room: readLoop
// alone adds some, and has seen it.
func (c *connection) placeParkedLocked(data []byte) {
	if n := len(c.out); n > 0 && c.usable()-c.out[n-1].w >= len(data) {
		last := c.out[n-1]
		last.w += copy(last.data[last.w:], data)
		return
	}
	last := takeChunk()
	last.w = copy(last.data[:], data)
	c.out = append(c.out, last)
}

// trimLocked gives back a last chunk that holds nothing.
func (c *connection) trimLocked() {
	last := c.out[len(c.out)-1]
	if last.r == last.w {
		c.out[len(c.out)-1] = nil
		c.out = c.out[:len(c.out)-1]
		giveChunk(last)
	}
}

// finishReading notes that the destination sends no more.
func (c *connection) finishReading() {
	c.mu.Lock()
	c.outEnd = true
	c.mu.Unlock()
	c.stream.Ready()
}

// Fill implements host.Endpoint.
func (c *connection) Fill(dst []byte, maxFrame int64) (msg []byte, size int64) {
	c.mu.Lock()
	room := c.text.room(maxFrame)
	switch {
	case c.over:
		c.mu.Unlock()
		return nil, 0
	case len(c.out) > 0 && c.out[0].r < c.out[0].w:
		head := c.out[0]
		raw := head.data[head.r:min(head.w, head.r+room)]
		c.filling = true
		c.mu.Unlock()
		// Nobody moves these bytes: only this goroutine takes from a chunk.
		msg, size = c.text.appendData(dst, raw)
		c.consumed(head, len(raw))
		return msg, size
	case c.outEnd && !c.outDone && len(c.out) == 0:
		c.outDone = true
		c.mu.Unlock()
		c.settle()
		params := append(append([]byte(`{"channel":"`), c.uri...), `"}`...)
		start := len(dst)
		msg = jsonrpc.AppendNotification(dst, ahp.MethodTCPEOF, params)
		return msg, 2 * int64(len(msg)-start)
	}
	c.mu.Unlock()
	return nil, 0
}

// consumed notes that n bytes of the first chunk were sent.
func (c *connection) consumed(head *chunk, n int) {
	c.mu.Lock()
	c.filling = false
	if c.over {
		c.mu.Unlock()
		return
	}
	head.r += n
	if head.r == head.w && !(c.reading && len(c.out) == 1) {
		n := copy(c.out, c.out[1:])
		c.out[n] = nil // or an idle connection would hold on to it
		c.out = c.out[:n]
		giveChunk(head)
	}
	c.mu.Unlock()
	c.free()
}
