package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/socks"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// Limits of a forwarder.
const (
	// maxForwarded bounds the connections at once; the host has a bound of its
	// own, which is lower unless it was raised.
	maxForwarded = 4096
	// reachTimeout is how long a new connection waits for the host to be there,
	// and then for the destination.
	reachTimeout = 15 * time.Second
	// socksTimeout is how long a SOCKS client may take to say where it wants to go.
	socksTimeout = 10 * time.Second
	// acceptPause is how long a listener that fails rests, for instance while
	// the process has no file descriptors left.
	acceptPause = 100 * time.Millisecond
)

// forwarder accepts local connections and joins each with one of the host.
type forwarder struct {
	c         *client.Client
	listeners []forwardListener
	report    *forwardReport

	work  sync.WaitGroup // every goroutine
	count atomic.Int64   // connections being served
}

// run serves until ctx ends or the client gives up.
func (f *forwarder) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, ln := range f.listeners {
		f.report.listening(ln)
		f.work.Go(func() { f.accept(ctx, ln) })
	}
	f.work.Go(func() { f.report.draw(ctx) })
	err := f.watch(ctx)
	cancel()
	f.close()
	f.report.end()
	return err
}

// watch tells about the connection to the host, and returns when there is no hope
// for it or ctx ends.
func (f *forwarder) watch(ctx context.Context) error {
	for s := range f.c.Statuses(ctx) {
		f.report.status(s)
		if s.State == client.GivenUp {
			return fmt.Errorf("the connection to the host is given up: %w", s.Err)
		}
	}
	return ctx.Err()
}

// close ends everything and waits for it. It may be called twice.
func (f *forwarder) close() {
	for _, ln := range f.listeners {
		_ = ln.Close()
	}
	if f.c != nil {
		_ = f.c.Close() // which ends its connections, and so the local ones
	}
	f.work.Wait()
}

func (f *forwarder) accept(ctx context.Context, ln forwardListener) {
	for {
		conn, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			f.report.trouble(fmt.Sprintf("accept on %s: %v", ln.Addr(), err))
			if !pauseFor(ctx, acceptPause) {
				return
			}
			continue
		}
		if f.count.Add(1) > maxForwarded {
			f.count.Add(-1)
			abortLocal(conn)
			f.report.trouble(fmt.Sprintf("a connection was refused: %d are open already", maxForwarded))
			continue
		}
		f.work.Go(func() {
			defer f.count.Add(-1)
			f.serve(ctx, ln.spec, conn)
		})
	}
}

// pauseFor waits, and reports whether it was for that long.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// serve serves one local connection to its end.
func (f *forwarder) serve(ctx context.Context, spec forwardSpec, local net.Conn) {
	stop := context.AfterFunc(ctx, func() { abortLocal(local) })
	defer stop()
	d := socks.Destination{Host: spec.host, Port: uint16(spec.port)}
	if spec.socks() {
		var err error
		if d, err = acceptSocks(local); err != nil {
			_ = local.Close()
			f.report.trouble(fmt.Sprintf("SOCKS client %s: %v", local.RemoteAddr(), err))
			return
		}
	}
	far, err := f.dial(ctx, d)
	if spec.socks() && ctx.Err() == nil {
		if socks.Reply(local, socksCode(err)) != nil && err == nil {
			far.Abort()
			err = errLocalGone
		}
	}
	if err != nil {
		if spec.socks() {
			_ = local.Close() // it was told
		} else {
			abortLocal(local)
		}
		if ctx.Err() == nil {
			f.report.refused(spec, d.String(), err)
		}
		return
	}
	entry := f.report.opened(spec, local.RemoteAddr(), d.String(), far)
	f.report.closed(entry, join(local, far))
}

var errLocalGone = errors.New("the local program has gone")

// dial opens a connection on the host, once there is a connection to the host.
func (f *forwarder) dial(ctx context.Context, d socks.Destination) (*client.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := f.c.Ready(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrConnectionLost, err)
	}
	return f.c.DialTCP(ctx, d.Host, int(d.Port), client.TCPOptions{})
}

func acceptSocks(local net.Conn) (socks.Destination, error) {
	if err := local.SetDeadline(time.Now().Add(socksTimeout)); err != nil {
		return socks.Destination{}, err
	}
	d, err := socks.Accept(local)
	if err != nil {
		return d, err
	}
	return d, local.SetDeadline(time.Time{})
}

// socksCode is what a SOCKS client is told about a dial.
func socksCode(err error) socks.Code {
	switch {
	case err == nil:
		return socks.Succeeded
	case errors.Is(err, ahp.ErrPermissionDenied):
		return socks.NotAllowed
	case errors.Is(err, ahp.ErrTCPConnectionOpenFailed):
		return socks.ConnectionRefused
	case errors.Is(err, jsonrpc.ErrInvalidParams):
		return socks.HostUnreachable
	case errors.Is(err, client.ErrConnectionLost), errors.Is(err, context.DeadlineExceeded):
		return socks.NetworkUnreachable
	}
	return socks.GeneralFailure
}

// dialTrouble says why a destination is not reached, and what to do.
func dialTrouble(destination string, err error) string {
	var answered *ahp.Error
	switch {
	case errors.Is(err, ahp.ErrPermissionDenied) && errors.As(err, &answered) && strings.Contains(answered.Message, "too many"):
		return "the host has reached its limit of connections: close some, or raise the limit there"
	case errors.Is(err, ahp.ErrPermissionDenied):
		return fmt.Sprintf("the host does not allow %s; 'causeway serve --allow-tcp %s' does", destination, destination)
	case errors.Is(err, ahp.ErrTCPConnectionOpenFailed):
		return fmt.Sprintf("the host cannot connect to %s: nothing listens there, or it is not reachable; the host's log says why", destination)
	case errors.Is(err, jsonrpc.ErrInvalidParams):
		return fmt.Sprintf("%s is not a destination the host understands", destination)
	case errors.Is(err, client.ErrConnectionLost):
		return fmt.Sprintf("%s is not reached: there is no connection to the host", destination)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%s is not reached: the host does not answer", destination)
	}
	return fmt.Sprintf("%s is not reached: %v", destination, err)
}

// halfCloser is a socket whose directions end one by one.
type halfCloser interface{ CloseWrite() error }

// abortLocal ends a socket with a reset: its program must not take it for an end.
func abortLocal(conn net.Conn) {
	if c, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0)
	}
	_ = conn.Close()
}

// join carries bytes both ways until both directions have ended, and passes each
// end on as it comes. When either side breaks, the other one is reset.
func join(local net.Conn, far *client.TCPConn) error {
	var first error
	var once sync.Once
	breakOff := func(err error) {
		once.Do(func() {
			first = err
			far.Abort()
			abortLocal(local)
		})
	}
	var up sync.WaitGroup
	up.Go(func() {
		_, err := far.ReadFrom(local)
		if err == nil {
			err = far.CloseWrite()
		}
		if err != nil {
			breakOff(err)
		}
	})
	_, err := far.WriteTo(local)
	if err == nil {
		err = endWriting(local)
	}
	if err != nil {
		breakOff(err)
	}
	up.Wait()
	if first == nil {
		_ = far.Close()
		_ = local.Close()
	}
	return first
}

func endWriting(w io.Writer) error {
	c, ok := w.(halfCloser)
	if !ok {
		return nil
	}
	err := c.CloseWrite()
	if errors.Is(err, syscall.ENOTCONN) { // it has reset its end
		return errLocalGone
	}
	return err
}
