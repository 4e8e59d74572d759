package client

import (
	"errors"
	"net"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
)

// lingerTimeout is how long a closed connection waits for the destination to end
// as well, since the host took the last of what was sent.
const lingerTimeout = 10 * time.Second

// CloseWrite ends this direction: the destination reads what was written and then
// the end. Reading goes on. It does not wait.
func (t *TCPConn) CloseWrite() error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.cause != nil {
		return t.cause
	}
	t.endWritingLocked()
	return nil
}

func (t *TCPConn) endWritingLocked() {
	if t.wantEOF || t.left {
		return
	}
	t.wantEOF = true
	t.sub.l.turns.Join(t)
	t.sub.l.wakeLocked()
	signal(t.room)
}

// Close ends the connection as close does for a socket: what was written still
// arrives, and then the end; but if there is anything that was not read, or comes
// later, the destination gets a reset. It does not wait. When the destination has
// not ended ten seconds after it took the last of what was written, it is reset.
func (t *TCPConn) Close() error {
	t.mu.Lock()
	again := t.closed
	unread := t.in.bytes > 0
	t.closed = true
	t.mu.Unlock()
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if again || t.left {
		t.endLocked(net.ErrClosed)
		return nil
	}
	if unread || t.abortive {
		t.abortLocked(net.ErrClosed)
		return nil
	}
	t.endWritingLocked()
	t.endLocked(net.ErrClosed)
	t.lingering = time.AfterFunc(lingerTimeout, t.Abort)
	return nil
}

// SetLinger changes Close as it does on a net.TCPConn: with 0 it aborts. Other
// values restore the usual.
func (t *TCPConn) SetLinger(seconds int) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.abortive = seconds == 0
	return nil
}

// Abort ends both directions at once: the destination gets a reset, and what was
// written and has not arrived is lost.
func (t *TCPConn) Abort() {
	t.c.mu.Lock()
	t.abortLocked(net.ErrClosed)
	t.c.mu.Unlock()
	t.discard()
}

// over implements sink: the host has reset the connection, or broken a rule.
func (t *TCPConn) over(cause error) {
	if errors.Is(cause, errResetByHost) {
		t.fail(&resetError{}, false)
		return
	}
	t.fail(&resetError{cause}, true)
}

// fail ends a connection that cannot go on. The host is told unless it said so
// itself.
func (t *TCPConn) fail(cause error, tell bool) {
	t.c.mu.Lock()
	switch {
	case tell:
		t.abortLocked(cause)
	case !t.left:
		t.leaveLocked()
		t.sub.l.urgeLocked(controlText(ahp.MethodUnsubscribe, t.sub.uri))
	}
	t.endLocked(cause)
	t.c.mu.Unlock()
	t.discard()
}

// abortLocked resets the connection (AHP core, 13 "End").
func (t *TCPConn) abortLocked(cause error) {
	if !t.left {
		t.leaveLocked()
		t.sub.l.urgeLocked(controlText(ahp.MethodTCPReset, t.sub.uri), controlText(ahp.MethodUnsubscribe, t.sub.uri))
	}
	t.endLocked(cause)
}

// finishLocked unsubscribes once both directions have ended (AHP core, 13 "End").
// What was received can still be read.
func (t *TCPConn) finishLocked() {
	if t.sentEOF && t.hostEOF && !t.left {
		t.leaveLocked()
		t.sub.l.urgeLocked(controlText(ahp.MethodUnsubscribe, t.sub.uri))
	}
}

// leaveLocked ends the subscription at this end and gives up what was not sent.
func (t *TCPConn) leaveLocked() {
	t.left = true
	l := t.sub.l
	l.turns.Leave(t)
	l.closeSubscriptionLocked(t.sub)
	for _, f := range t.out {
		giveFrame(f)
	}
	t.out, t.outBytes = nil, 0
	if t.lingering != nil {
		t.lingering.Stop()
	}
	signal(t.room)
}

// endLocked fails whoever reads or writes. The first cause stays.
func (t *TCPConn) endLocked(cause error) {
	if t.cause == nil {
		t.cause = cause
		close(t.done)
		t.readDeadline.stop()
		t.writeDeadline.stop()
	}
}

// discard forgets what was received and not read.
func (t *TCPConn) discard() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.in.discard()
}

// loseTCP ends the TCP connections of a connection to the host that was lost.
func loseTCP(subs map[ahp.URI]*subscription, cause error) {
	for _, s := range subs {
		if t, ok := s.sink.(*TCPConn); ok {
			t.lose(&LostError{Method: ahp.MethodTCPData, Sent: true, Cause: cause})
		}
	}
}

func (t *TCPConn) lose(cause error) {
	t.c.mu.Lock()
	if !t.left {
		t.leaveLocked()
	}
	t.endLocked(cause)
	t.c.mu.Unlock()
	t.discard()
}
