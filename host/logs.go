package host

import (
	"context"
	"errors"
	"log/slog"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/transport"
)

// What is logged of a connection says whose it is, by ids, and never what it carried.

func (c *Conn) logger() *slog.Logger {
	return c.h.log.With("conn", c.id, "client", c.ClientID(), "principal", c.principal)
}

// logEnd tells how the connection ended. Of the peer's words it has the code, not the
// text.
func (c *Conn) logEnd(cause error) {
	level, why := slog.LevelDebug, "host"
	var closed *closedError
	if errors.As(cause, &closed) {
		why = string(closed.cause)
		if closed.cause.notable() {
			level = slog.LevelInfo
		}
	}
	if !c.h.log.Enabled(context.WithoutCancel(c.ctx), level) {
		return
	}
	args := []any{"cause", why}
	var said *transport.CloseError
	switch {
	case errors.As(cause, &said):
		args = append(args, "code", int(said.Code))
		if said.Err != nil {
			args = append(args, "err", said.Err)
		}
	case closed != nil && closed.err != nil:
		args = append(args, "err", closed.err)
	}
	c.logger().Log(context.WithoutCancel(c.ctx), level, "connection ended", args...)
}

// notable reports whether an operator may want to know: the host ended the connection
// for something that was not in order.
func (c CloseCause) notable() bool {
	switch c {
	case ClosePeer, CloseShutdown, CloseReplaced:
		return false
	}
	return true
}

// mapError and panicked are the host's, with whose request it was.
func (c *Conn) mapError(err error) *ahp.Error { return mapError(err, c.logger) }

func (c *Conn) panicked(v any, stack []byte) { c.h.panicked(v, stack, c.logger()) }
