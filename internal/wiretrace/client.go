package wiretrace

import (
	"errors"
	"fmt"
	"sync"

	"github.com/causeway-ahp/causeway/transport"
)

// MaxMessagesPerStep bounds what one client may receive in one step.
const MaxMessagesPerStep = 10_000

// errFlood ends the reading of a client that receives without end.
var errFlood = fmt.Errorf("more than %d messages in one step", MaxMessagesPerStep)

// client is one connection under a name, with the goroutine that reads it.
type client struct {
	name   string
	conn   transport.Conn
	reader sync.WaitGroup

	mu       sync.Mutex
	received [][]byte // since the last step
	ended    error    // why reading ended
}

func newClient(name string, conn transport.Conn) *client {
	c := &client{name: name, conn: conn}
	c.reader.Go(c.readLoop)
	return c
}

// readLoop ends when the connection does, or when it floods.
func (c *client) readLoop() {
	for {
		text, err := c.conn.Read()
		if !c.store(text, err) {
			return
		}
	}
}

// store keeps what Read returned and reports whether to go on.
func (c *client) store(text []byte, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && len(c.received) == MaxMessagesPerStep {
		err = errFlood
	}
	if err != nil {
		c.ended = err
		return false
	}
	c.received = append(c.received, text)
	return true
}

// take returns what was received since the last call, and the error that ended
// the connection, if it has ended.
func (c *client) take() (received [][]byte, ended error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	received, c.received = c.received, nil
	return received, c.ended
}

// close ends the connection and waits for the reader.
func (c *client) close(code transport.Code, reason string) error {
	err := c.conn.Close(code, reason)
	c.reader.Wait()
	return err
}

// closing returns code and reason of the end of a connection. A connection that
// broke has none of its own and counts as abnormal.
func closing(ended error) (transport.Code, string) {
	var closed *transport.CloseError
	if errors.As(ended, &closed) {
		return closed.Code, closed.Reason
	}
	return transport.CodeAbnormal, ""
}
