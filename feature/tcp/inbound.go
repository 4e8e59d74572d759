package tcp

import "net"

// writeBytes is about how much one system write is given, so that credit goes
// back as the bytes leave.
const writeBytes = 128 << 10

// write queues a message for the destination, or the end of its direction. What
// follows an end is against the rules.
func (c *connection) write(m inbound, last bool) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	if c.inEnd {
		c.mu.Unlock()
		c.abort(endInvalid, true)
		return
	}
	c.inEnd = last
	c.in = append(c.in, m)
	if !c.writing {
		c.writing = true
		c.f.running.Go(c.writeLoop)
	}
	c.mu.Unlock()
}

// writeLoop writes what waits for the destination, and ends when nothing does.
func (c *connection) writeLoop() {
	var batch []inbound
	var bufs [][]byte
	for {
		var last bool
		if batch, last = c.nextBatch(batch[:0]); len(batch) == 0 {
			return
		}
		var size int64
		bufs = bufs[:0]
		for _, m := range batch {
			size += m.size
			if len(m.data) > 0 {
				bufs = append(bufs, m.data)
			}
		}
		err := writeAll(c.sock, bufs)
		for _, m := range batch {
			if m.held != nil {
				giveChunk(m.held)
			}
		}
		clear(batch)
		clear(bufs)
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

func writeAll(sock Socket, bufs net.Buffers) error {
	if len(bufs) == 1 {
		_, err := sock.Write(bufs[0])
		return err
	}
	_, err := bufs.WriteTo(sock)
	return err
}

// nextBatch takes about writeBytes of what waits. Without any, the loop is over.
func (c *connection) nextBatch(batch []inbound) (_ []inbound, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := 0
	for total < writeBytes && len(batch) < len(c.in) {
		m := c.in[len(batch)]
		batch = append(batch, m)
		total += len(m.data)
	}
	rest := copy(c.in, c.in[len(batch):])
	clear(c.in[rest:])
	c.in = c.in[:rest]
	if len(batch) == 0 {
		c.writing = false
		c.in = nil
		return batch, false
	}
	return batch, c.inEnd && rest == 0
}

// finishWriting notes that the destination was told the end.
func (c *connection) finishWriting() {
	c.mu.Lock()
	c.inDone, c.writing = true, false
	c.mu.Unlock()
	c.settle()
}
