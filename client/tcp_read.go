package client

import (
	"errors"
	"io"
	"os"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// errDataAfterEOF is a tcp/data behind a tcp/eof (AHP core, 13 "Data").
var errDataAfterEOF = errors.New("data after the end")

// errUnread is data for a connection that was closed at this end. As with TCP it
// resets the connection: its sender must not believe that it was read.
var errUnread = errors.New("closed with data on its way")

// take implements sink.
func (t *TCPConn) take(m jsonrpc.Message, size int64) error {
	switch m.Method {
	case ahp.MethodTCPData:
		return t.takeData(m.Params, size)
	case ahp.MethodTCPEOF:
		t.takeEOF()
	case ahp.MethodChannelSnapshot:
		if _, err := t.sub.readChannelSnapshot(m.Params); err != nil {
			return err
		}
	}
	t.sub.release(size)
	return nil
}

func (t *TCPConn) takeData(params jsontext.Value, size int64) error {
	raw, _ := jsonrpc.Member(params, "data")
	text, _ := jsonrpc.StringBytes(raw)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
		return errDataAfterEOF
	case t.closed:
		return errUnread
	}
	if err := t.in.add(text, size); err != nil {
		return err
	}
	signal(t.readable)
	t.sub.l.spent = size > 0 // the bytes were copied; a message in frames is another one
	return nil
}

func (t *TCPConn) takeEOF() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	signal(t.readable)
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.hostEOF = true
	t.finishLocked()
}

// moved implements sink.
func (t *TCPConn) moved(size int64) {
	t.mu.Lock()
	if t.in.bytes > 0 {
		t.in.moved += size
		size = 0
	}
	t.mu.Unlock()
	t.sub.release(size)
}

// signal leaves a token for whoever waits.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Read returns bytes in the order in which the destination sent them, and io.EOF
// after its end. It fails with an error that matches ErrReset when the connection
// was aborted, with ErrConnectionLost when that to the host was lost, and with
// os.ErrDeadlineExceeded past the deadline; bytes not read by then are lost in
// the first two cases.
func (t *TCPConn) Read(p []byte) (int, error) {
	for {
		if err := t.readRefused(); err != nil {
			return 0, err
		}
		t.mu.Lock()
		n, freed := t.in.read(p)
		ended, more := t.ended, t.in.bytes > 0
		t.mu.Unlock()
		if more || ended {
			signal(t.readable) // for another reader
		}
		t.sub.release(freed)
		switch {
		case n > 0 || len(p) == 0:
			t.received.Add(int64(n))
			return n, nil
		case ended && !more:
			return 0, io.EOF
		}
		if err := t.awaitData(); err != nil {
			return 0, err
		}
	}
}

// readRefused is why nothing may be read although there may be something.
func (t *TCPConn) readRefused() error {
	select {
	case <-t.done:
		return t.cause
	case <-t.readDeadline.wait():
		return os.ErrDeadlineExceeded
	default:
		return nil
	}
}

func (t *TCPConn) awaitData() error {
	select {
	case <-t.readable:
		return nil
	case <-t.done:
		return t.cause
	case <-t.readDeadline.wait():
		return os.ErrDeadlineExceeded
	}
}

// WriteTo implements io.WriterTo: it writes to w what comes until the destination
// has ended, without a buffer of its own. The window is given back as w takes the
// bytes. The error is that of Read or of w.
func (t *TCPConn) WriteTo(w io.Writer) (total int64, err error) {
	for {
		if err := t.readRefused(); err != nil {
			return total, err
		}
		t.mu.Lock()
		c, freed := t.in.take()
		ended, more := t.ended, t.in.bytes > 0
		t.mu.Unlock()
		if more || ended {
			signal(t.readable)
		}
		switch {
		case c != nil:
			n, err := w.Write(c.buf[c.r:c.w])
			giveChunk(c)
			total += int64(n)
			t.received.Add(int64(n))
			t.sub.release(freed)
			if err != nil {
				return total, err
			}
			continue
		case ended:
			return total, nil
		}
		if err := t.awaitData(); err != nil {
			return total, err
		}
	}
}
