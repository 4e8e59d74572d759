package stdio

import (
	"bytes"
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/transport"
)

// Write implements transport.Conn. It returns transport.ErrUnframeable, and
// writes nothing, if a message of the batch cannot be a line; the connection
// goes on then. A batch of up to 64 KiB is one write to the stream.
func (c *Conn) Write(batch [][]byte) error {
	for i, m := range batch {
		if bytes.IndexByte(m, '\n') >= 0 || bytes.HasSuffix(m, []byte{'\r'}) {
			return fmt.Errorf("stdio: write: message %d of %d: %w: it would change as a line",
				i+1, len(batch), transport.ErrUnframeable)
		}
	}
	select {
	case c.wtok <- struct{}{}:
		defer func() { <-c.wtok }()
	case <-c.ended:
	}
	if err := c.failed(); err != nil {
		return err
	}
	if err := c.writeBatch(batch); err != nil {
		return c.fail(fmt.Errorf("stdio: write: %w", err))
	}
	return nil
}

func (c *Conn) writeBatch(batch [][]byte) error {
	for _, m := range batch {
		if err := c.put(m); err != nil {
			return err
		}
		if err := c.put(lineEnd); err != nil {
			return err
		}
	}
	return c.flush()
}

var lineEnd = []byte{'\n'}

// put buffers p and writes the buffer whenever it is full.
func (c *Conn) put(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), bufferBytes-len(c.buf))
		c.buf = append(c.buf, p[:n]...)
		p = p[n:]
		if len(c.buf) == bufferBytes {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the buffer under the write timeout.
func (c *Conn) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	c.watch()
	_, err := c.w.Write(c.buf)
	c.unwatch()
	c.buf = c.buf[:0]
	return err
}

// watch starts the write timeout. It closes the stream instead of setting a
// deadline on it, since few of the streams used here know deadlines.
func (c *Conn) watch() {
	d := c.opts.WriteTimeout
	if d < 0 {
		return
	}
	c.running.Add(1)
	if c.watchdog == nil {
		c.watchdog = time.AfterFunc(d, c.expire)
		return
	}
	c.watchdog.Reset(d)
}

func (c *Conn) unwatch() {
	if c.watchdog != nil && c.watchdog.Stop() {
		c.running.Done()
	}
}

func (c *Conn) expire() {
	defer c.running.Done()
	_ = c.fail(fmt.Errorf("stdio: %w after %v", transport.ErrWriteTimeout, c.opts.WriteTimeout))
}
