package websocket

import (
	"fmt"
	"time"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

// keepalive watches for a peer that is gone without a trace. It is a timer and
// not a goroutine, so that an idle connection pays for neither stack nor
// wake-ups. Its fields belong to the running step, of which there is one.
type keepalive struct {
	timer *time.Timer
	// asked is when the unanswered ping was written, in the measure of
	// Conn.now; 0 if none is out.
	asked int64
	// heard is the count of receives before that ping.
	heard uint64
}

// startKeepalive arms the first step. The step counts as running from here on,
// until it ends the watch or stopKeepalive stops it.
func (c *Conn) startKeepalive() {
	if c.opts.PingInterval < 0 {
		return
	}
	c.running.Add(1)
	// Armed only once the field is set, since the step uses it.
	c.keep.timer = time.AfterFunc(time.Hour, c.watch)
	c.keep.timer.Reset(c.opts.PingInterval)
}

// stopKeepalive stops a step that has not begun. A running one sees that the
// connection has ended and does not arm another.
func (c *Conn) stopKeepalive() {
	if t := c.keep.timer; t != nil && t.Stop() {
		c.running.Done()
	}
}

// watch is one step: judge the silence, ask if need be, arm the next.
func (c *Conn) watch() {
	if c.failed() != nil {
		c.running.Done()
		return
	}
	next, alive := c.judge()
	if !alive {
		silence := c.opts.PingInterval + c.opts.PongTimeout
		if c.end(fmt.Errorf("websocket: %w for %v", transport.ErrPeerSilent, silence)) {
			c.drop()
		}
		c.running.Done()
		return
	}
	c.keep.timer.Reset(next)
	if c.failed() != nil {
		c.stopKeepalive()
	}
}

// judge returns when to look again, or that the peer is gone. Silence is only
// what passes while somebody waits for bytes and a ping is out: when our own
// reader is busy, or our writer has kept the ping back, the peer may well have
// spoken or had nothing to answer.
func (c *Conn) judge() (next time.Duration, alive bool) {
	since, heard := c.in.waiting.Load(), c.in.heard.Load()
	now := c.now()
	if c.keep.asked != 0 && heard == c.keep.heard {
		left := c.opts.PongTimeout - time.Duration(now-c.keep.asked)
		return left, left > 0
	}
	c.keep.asked = 0
	idle := time.Duration(now - since)
	if since != 0 && idle < c.opts.PingInterval {
		return c.opts.PingInterval - idle, true
	}
	// Also while our reader is busy: the ping is our own sign of life.
	if !c.ping() || since == 0 {
		return c.opts.PingInterval, true
	}
	c.keep.asked, c.keep.heard = c.now(), heard
	return c.opts.PongTimeout, true
}

// ping writes a ping unless a writer is at work, whose timeout does as well.
func (c *Conn) ping() bool {
	if !c.tryLockWrite() {
		return false
	}
	defer c.unlockWrite()
	if c.failed() != nil {
		return false
	}
	o := output{c: c, buf: takeBuffer(smallBytes)[:0]}
	err := o.frame(ws.OpPing, nil)
	if err == nil {
		err = o.flush()
	}
	giveBuffer(o.buf)
	if err != nil {
		_ = c.writeFailed(err)
		return false
	}
	c.stats.pingsSent.Add(1)
	return true
}
