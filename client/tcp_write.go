package client

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
)

// errWriteClosed is a write after CloseWrite.
var errWriteClosed = errors.New("write after the end of writing")

// maxOutBytes is about how much of a connection waits to be written; what a
// writer adds below it may pass it. maxOutFrames bounds tiny writes.
const (
	maxOutBytes  = 160 << 10
	maxOutFrames = 64
)

// Write sends p. It returns when everything has been charged to the window and
// queued, which is not arrival: see Close. Two calls never mix their bytes. The
// errors are those of Read.
func (t *TCPConn) Write(p []byte) (n int, err error) {
	if err := t.lockWriting(); err != nil {
		return 0, err
	}
	defer t.unlockWriting()
	for len(p) > 0 {
		k := min(len(p), t.payload)
		if err := t.send(p[:k]); err != nil {
			return n, err
		}
		n += k
		p = p[k:]
	}
	return n, nil
}

// lockWriting waits for its turn among writers.
func (t *TCPConn) lockWriting() error {
	if err := t.writeRefused(); err != nil {
		return err
	}
	select {
	case t.writing <- struct{}{}:
		return nil
	case <-t.done:
		return t.cause
	case <-t.writeDeadline.wait():
		return os.ErrDeadlineExceeded
	}
}

func (t *TCPConn) unlockWriting() { <-t.writing }

func (t *TCPConn) writeRefused() error {
	select {
	case <-t.done:
		return t.cause
	case <-t.writeDeadline.wait():
		return os.ErrDeadlineExceeded
	default:
		return nil
	}
}

// send sends what fits one message. The caller has the writing token.
func (t *TCPConn) send(p []byte) error {
	if err := t.awaitRoom(); err != nil {
		return err
	}
	f := encodeData(t.head, p)
	if err := t.push(f); err != nil {
		giveFrame(f)
		return err
	}
	t.sent.Add(int64(len(p)))
	return nil
}

// awaitRoom waits until a message may start. Only the holder of the writing token
// fills the window, but for the end of writing, which push finds out about.
func (t *TCPConn) awaitRoom() error {
	for {
		if err := t.writeRefused(); err != nil {
			return err
		}
		t.c.mu.Lock()
		ok := t.sub.window.CanStart() && t.outBytes < maxOutBytes && len(t.out) < maxOutFrames
		closed := t.wantEOF || t.left
		t.c.mu.Unlock()
		if ok || closed {
			return nil
		}
		select {
		case <-t.room:
		case <-t.done:
		case <-t.writeDeadline.wait():
		}
	}
}

// push charges a frame and queues it, in one step: the order of the charges is
// the order on the wire.
func (t *TCPConn) push(f *frame) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	l := t.sub.l
	switch {
	case t.cause != nil:
		return t.cause
	case t.wantEOF || t.left:
		return errWriteClosed
	}
	if err := t.sub.window.Charge(f.size); err != nil {
		return err
	}
	t.out = append(t.out, f)
	t.outBytes += len(f.msg)
	l.turns.Join(t)
	l.wakeLocked()
	return nil
}

// turnLocked takes the next message for the writer, and reports whether there is
// another that may go.
func (t *TCPConn) turnLocked(batch [][]byte) (_ [][]byte, more bool) {
	l := t.sub.l
	if len(t.out) > 0 {
		f := t.out[0]
		n := copy(t.out, t.out[1:])
		t.out[n] = nil
		t.out = t.out[:n]
		t.outBytes -= len(f.msg)
		l.frames = append(l.frames, f)
		batch = append(batch, f.msg)
		signal(t.room)
	} else if t.mayEndLocked() {
		batch = l.addLocked(batch, t.appendEOF)
		t.sentEOF = true
		t.finishLocked()
	}
	return batch, len(t.out) > 0 || t.mayEndLocked()
}

// mayEndLocked reports whether the tcp/eof may go: it is data and needs credit.
func (t *TCPConn) mayEndLocked() bool {
	return t.wantEOF && !t.sentEOF && !t.left && len(t.out) == 0 && t.sub.window.CanStart()
}

func (t *TCPConn) appendEOF(dst []byte) []byte {
	msg := controlText(ahp.MethodTCPEOF, t.sub.uri)
	_ = t.sub.window.Charge(flow.Size(msg)) // it may start, and fits any frame
	return append(dst, msg...)
}

// creditedLocked implements sink.
func (t *TCPConn) creditedLocked() {
	signal(t.room)
	if t.lingering != nil {
		t.lingering.Reset(lingerTimeout)
	}
	if t.mayEndLocked() {
		t.sub.l.turns.Join(t)
		t.sub.l.wakeLocked()
	}
}

// Buffers for ReadFrom: a small one while little comes.
const smallRead = 4 << 10

var largeReads = sync.Pool{New: func() any { return new([largeChunk]byte) }}

// ReadFrom implements io.ReaderFrom: it sends what r has until its end, which it
// does not pass on (see CloseWrite). It reads only what the window has room for,
// with a small buffer while little comes. The error is that of Write or of r.
func (t *TCPConn) ReadFrom(r io.Reader) (total int64, err error) {
	if err := t.lockWriting(); err != nil {
		return 0, err
	}
	defer t.unlockWriting()
	small := make([]byte, min(smallRead, t.payload))
	buf := small
	var large *[largeChunk]byte
	defer func() {
		if large != nil {
			largeReads.Put(large)
		}
	}()
	for {
		if err := t.awaitRoom(); err != nil {
			return total, err
		}
		n, err := r.Read(buf)
		if n > 0 {
			if err := t.send(buf[:n]); err != nil {
				return total, err
			}
			total += int64(n)
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		switch {
		case large == nil && n == len(small) && t.payload > len(small):
			large = largeReads.Get().(*[largeChunk]byte)
			buf = large[:t.payload]
		case large != nil && n < len(small):
			largeReads.Put(large)
			large, buf = nil, small
		}
	}
}
