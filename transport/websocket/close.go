package websocket

import (
	"encoding/binary"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

// maxReasonBytes is what a close frame has room for (RFC 6455, 5.5).
const maxReasonBytes = ws.MaxControlFramePayloadSize - 2

// Close implements transport.Conn. It takes a second at most for the closing
// handshake. A code that may not be sent becomes 1011, a reason is cut to 123
// bytes of valid UTF-8.
func (c *Conn) Close(code transport.Code, reason string) error {
	if !code.Sendable() {
		code = transport.CodeInternal
	}
	reason = cutReason(reason)
	if c.end(&transport.CloseError{Code: code, Reason: reason}) {
		c.shakeHands(code, reason)
		c.drop()
	}
	c.dropped.Wait()
	c.release()
	return nil
}

// shakeHands sends our close frame and waits for the peer's, both within
// closeTimeout.
func (c *Conn) shakeHands(code transport.Code, reason string) {
	deadline := time.Now().Add(closeTimeout)
	if !c.sendClose(code, reason, deadline) {
		return
	}
	_ = c.nc.SetReadDeadline(deadline) // also ends a Read that is waiting
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	if c.reading.wait(t.C) {
		c.awaitClose()
		c.reading.give()
	}
}

// awaitClose passes over frames until the peer's close frame or an error. A
// Read that was running when Close began may have seen it already.
func (c *Conn) awaitClose() {
	for !c.over {
		h, err := c.header()
		c.over = err != nil || h.OpCode == ws.OpClose || c.skip(h.Length) != nil
	}
}

// sendClose writes a close frame, the last thing this side writes, and reports
// whether it did. It waits for a running Write until the deadline.
func (c *Conn) sendClose(code transport.Code, reason string, deadline time.Time) bool {
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case c.wtok <- struct{}{}:
	case <-t.C:
		return false
	}
	defer func() { <-c.wtok }()
	if c.sealed {
		return false
	}
	c.sealed = true
	_ = c.nc.SetWriteDeadline(deadline)
	_, err := c.nc.Write(c.closeFrame(code, reason))
	return err == nil
}

func (c *Conn) closeFrame(code transport.Code, reason string) []byte {
	var body []byte
	if code != transport.CodeNoStatus { // a close without a code is answered in kind
		body = binary.BigEndian.AppendUint16(body, uint16(code))
		body = append(body, cutReason(reason)...)
	}
	if !c.client {
		return append(appendHeader(nil, ws.OpClose, len(body), nil), body...)
	}
	mask := newMask()
	ws.Cipher(body, mask, 0)
	return append(appendHeader(nil, ws.OpClose, len(body), &mask), body...)
}

// cutReason makes any text fit a close frame.
func cutReason(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxReasonBytes {
		return s
	}
	n := maxReasonBytes
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// release waits until nothing of the connection runs any more. The socket is
// closed, so every wait is short.
func (c *Conn) release() {
	c.released.Do(func() {
		c.reading.wait(nil) // kept: from here on no reader can start a pong
		c.stopKeepalive()
		c.running.Wait()
		c.in.release()
	})
}
