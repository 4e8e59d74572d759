package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/stdio"
)

// DefaultLinger is how long accepted calls may go on without their client.
const DefaultLinger = 10 * time.Minute

// maxLineBytes bounds a message; tools return files.
const maxLineBytes = 64 << 20

// Gateway relays between one client and a server that it starts, over stdio.
type Gateway struct {
	Options
	// Command is the server's program and its arguments.
	Command []string
	// Env is the server's environment; nil: that of this process.
	Env []string
	// Client is where the client speaks and listens. They are closed at the end if
	// they can be.
	ClientIn  io.Reader
	ClientOut io.Writer
	// Stderr takes what the server logs. Its errors are ignored: a client that has
	// gone must not end the server.
	Stderr io.Writer
	// Linger bounds how long accepted calls go on after the client has gone; 0 means
	// DefaultLinger, and less means not at all.
	Linger time.Duration
}

// ExitError tells how the server ended when it did so by itself.
type ExitError struct{ Code int }

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("the server ended with exit code %d", e.Code) }

var errNoCommand = errors.New("name the server to start")

// Run starts the server and relays until it ends, or until the client has gone and
// the accepted calls are over. The end of ctx cuts that short: what still runs is
// recorded as interrupted. The error tells how the server ended, if that was not well.
func (g *Gateway) Run(ctx context.Context) error {
	if len(g.Command) == 0 {
		return errNoCommand
	}
	p, err := startServer(g)
	if err != nil {
		return err
	}
	client := newLines(g.ClientIn, g.ClientOut)
	server := newLines(p.out, p.in)
	l := newLink(context.WithoutCancel(ctx), newGate(g.Options), server.write, client.write)

	var loops sync.WaitGroup
	clientDone, serverDone := make(chan struct{}), make(chan struct{})
	loops.Go(func() { defer close(clientDone); client.pump(l.fromClient) })
	loops.Go(func() { defer close(serverDone); server.pump(l.fromServer) })
	select {
	case <-serverDone:
		l.serverGone()
	case <-clientDone:
		g.linger(ctx, l, serverDone)
	case <-ctx.Done():
	}
	l.close(errShutdown)
	err = p.stop()
	within(stopGrace, serverDone) // what it said last is still on its way
	server.close()
	client.close()
	loops.Wait()
	return err
}

// within waits for done, but no longer than d: a grandchild may hold the pipe open.
func within(d time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// linger lets accepted calls go on without their client.
func (g *Gateway) linger(ctx context.Context, l *link, serverDone <-chan struct{}) {
	l.clientGone()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(g.Linger, DefaultLinger))
	defer cancel()
	idle := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() { defer close(idle); l.wait(ctx) })
	select {
	case <-idle:
	case <-serverDone:
		l.serverGone()
	}
	waiting.Wait()
}

// lines is one side of the gateway. Its two directions end by themselves: who has
// said all may still listen.
type lines struct{ in, out *stdio.Conn }

func newLines(r io.Reader, w io.Writer) lines {
	o := stdio.Options{MaxMessageBytes: maxLineBytes, WriteTimeout: -1}
	return lines{in: stdio.New(r, io.Discard, o), out: stdio.New(strings.NewReader(""), w, o)}
}

// write may be called by any number: the carrier lets one at a time.
func (s lines) write(message []byte) error { return s.out.Write([][]byte{message}) }

// pump hands on messages until the side says no more. An error of the far side is that
// side's to notice: what is still said here is read on.
func (s lines) pump(take func([]byte) error) {
	for {
		message, err := s.in.Read()
		if err != nil {
			return
		}
		_ = take(message)
	}
}

func (s lines) close() { // the causes are known
	_ = s.out.Close(transport.CodeNormal, "")
	_ = s.in.Close(transport.CodeNormal, "")
}
