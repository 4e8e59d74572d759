package main

import (
	"context"
	"net"
	"net/http"

	"github.com/coder/websocket"
)

// initializeMessage is a complete handshake of a client.
const initializeMessage = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":"tester"}}`

// dialUnix connects over a Unix socket with an independent client.
func dialUnix(ctx context.Context, path string) (*websocket.Conn, error) {
	overUnix := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	c, _, err := websocket.Dial(ctx, "ws://localhost/", &websocket.DialOptions{HTTPClient: overUnix})
	return c, err
}
