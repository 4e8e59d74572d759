package websocket

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"

	"github.com/gobwas/ws"
)

// Upgrade answers a WebSocket upgrade request and takes over its connection.
// The caller has decided before that the peer may come in (AHP core, 1, the
// threat-model minimums). When the request is no upgrade, Upgrade answers it
// with the fitting HTTP error and returns an error.
//
// To make an idle connection cheap, let the handler return and use the Conn on
// a goroutine of its own: only then do net/http's buffers and the goroutine's
// grown stack go away. The request's context ends with the handler.
func Upgrade(w http.ResponseWriter, r *http.Request, o Options) (*Conn, error) {
	u := ws.HTTPUpgrader{Timeout: DefaultUpgradeTimeout}
	nc, rw, _, err := u.Upgrade(r, w)
	if err != nil {
		if nc != nil {
			_ = nc.Close()
		}
		return nil, fmt.Errorf("websocket: upgrade: %w", err)
	}
	early, err := buffered(rw.Reader)
	if err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("websocket: upgrade: %w", err)
	}
	return newConn(nc, early, false, o), nil
}

// buffered returns a copy of what r holds and has not given out.
func buffered(r *bufio.Reader) ([]byte, error) {
	b, err := r.Peek(r.Buffered())
	return slices.Clone(b), err
}
