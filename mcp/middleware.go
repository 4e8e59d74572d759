package mcp

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// WithNotifications returns a transport for a server made with the Go SDK that gives
// it the feature, over stdio and every other transport of whole messages:
//
//	server.Run(ctx, mcp.WithNotifications(&sdk.StdioTransport{}, mcp.Options{Engine: engine}))
//
// Over streamable HTTP wrap the server's handler with [NewHandler] instead. After the
// client has left, accepted calls go on for [DefaultLinger] at most; then the server
// sees the end of its input.
func WithNotifications(t sdk.Transport, o Options) sdk.Transport { return &middleware{t, o} }

type middleware struct {
	inner   sdk.Transport
	options Options
}

// Connect implements mcp.Transport of the SDK.
func (t *middleware) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &middleConn{inner: inner, in: make(chan jsonrpc.Message), ended: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.link = newLink(c.ctx, newGate(t.options), c.toServer, c.toClient)
	c.pump.Go(c.readLoop)
	return c, nil
}

// middleConn is the server's end of a connection with the link before it.
type middleConn struct {
	inner sdk.Connection
	link  *link

	ctx    context.Context
	cancel context.CancelCauseFunc
	pump   sync.WaitGroup
	in     chan jsonrpc.Message // for the server
	ended  chan struct{}        // closed when nothing more comes for it
	closed sync.Once
}

// readLoop hands the client's messages to the link. When the client has gone the calls
// that were accepted go on; only then does the server see the end.
func (c *middleConn) readLoop() {
	defer close(c.ended)
	for {
		m, err := c.inner.Read(c.ctx)
		if err != nil {
			break
		}
		if data, err := jsonrpc.EncodeMessage(m); err == nil {
			_ = c.link.fromClient(data) // toServer fails only at the end, toClient is the client's loss
		}
	}
	c.link.clientGone()
	ctx, cancel := context.WithTimeout(c.ctx, DefaultLinger)
	defer cancel()
	c.link.wait(ctx)
}

func (c *middleConn) toServer(data []byte) error {
	m, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return err
	}
	select {
	case c.in <- m:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

func (c *middleConn) toClient(data []byte) error {
	m, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return err
	}
	return c.inner.Write(c.ctx, m)
}

// Read implements mcp.Connection of the SDK.
func (c *middleConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.in:
		return m, nil
	case <-c.ended:
		return nil, io.EOF
	case <-c.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Write implements mcp.Connection of the SDK. A client that has gone is no reason for
// the server to end its calls.
func (c *middleConn) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	err = c.link.fromServer(data)
	if err != nil && c.link.lingers() {
		return nil
	}
	return err
}

var errConnClosed = errors.New("the connection was closed")

// Close implements mcp.Connection of the SDK.
func (c *middleConn) Close() (err error) {
	c.closed.Do(func() {
		c.link.close(errConnClosed)
		c.cancel(errConnClosed)
		err = c.inner.Close()
		c.pump.Wait()
	})
	return err
}

// SessionID implements mcp.Connection of the SDK.
func (c *middleConn) SessionID() string { return c.inner.SessionID() }
