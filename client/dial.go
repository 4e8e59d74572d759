package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// Dial connects to the host at a ws, wss or ws+unix URL, which may hold the token
// (?tkn=…), and returns when the connection is live. The first attempt must
// succeed; from then on the client reconnects by itself until Close, or until
// the host says that it need not try (see [ErrGivenUp]).
//
// ctx bounds the connecting only. The error of a refused upgrade is a
// *websocket.HandshakeError; errors never repeat the URL.
func Dial(ctx context.Context, url string, opts Options) (*Client, error) {
	c := newClient(ctx, WebSocket(url, opts), opts)
	c.firstMustSucceed = true
	c.start()
	if err := c.Ready(ctx); err != nil {
		if cause := c.Status().Err; errors.Is(err, ErrGivenUp) && cause != nil {
			err = cause
		}
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// New makes a client that opens its connections with dial, and returns at once:
// [Client.Ready] waits for the first connection. Unlike Dial it tries again when
// the first attempt fails.
//
// The client keeps the values of ctx, not its end: Close ends a client.
func New(ctx context.Context, dial DialFunc, opts Options) *Client {
	c := newClient(ctx, dial, opts)
	c.start()
	return c
}

// WebSocket returns the DialFunc that Dial uses.
func WebSocket(url string, opts Options) DialFunc {
	return func(ctx context.Context) (transport.Conn, error) {
		t, err := websocket.Dial(ctx, url, websocket.DialOptions{
			Options: opts.WebSocket, Dialer: opts.Dialer, TLS: opts.TLS, Header: opts.Header,
		})
		if err != nil {
			if hopeless(err) {
				err = Permanent(err)
			}
			return nil, err
		}
		return t, nil
	}
}

// hopeless reports whether dialling the same URL again cannot succeed.
func hopeless(err error) bool {
	var refused *websocket.HandshakeError
	if errors.As(err, &refused) {
		return refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden
	}
	return errors.Is(err, websocket.ErrScheme)
}
