package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
	coder "github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
)

// payload is what is sent.
var payload = bytes.Repeat([]byte{'x'}, 200)

// serve is a server that is measured; it answers each message with as many as it says.
func serve(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	handler := map[string]func(http.ResponseWriter, *http.Request) error{
		"causeway":          serveOurs,
		"gorilla/websocket": serveGorilla,
		"coder/websocket":   func(w http.ResponseWriter, r *http.Request) error { return serveCoder(ctx, w, r) },
	}[name]
	if handler == nil {
		return fmt.Errorf("there is no server %s", name)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = handler(w, r) // the client sees the end
	})}
	go func() { _ = server.Serve(ln) }() // until the process ends
	return measure.Present(ln.Addr().String(), in, out)
}

// most is how many messages may be asked for.
const most = 10_000_000

func asked(msg []byte) (int, error) {
	n, err := strconv.Atoi(string(msg))
	if err != nil || n > most {
		return 0, errors.New("not a number of messages")
	}
	return n, nil
}

// batch is how many messages a host typically finds when it writes under load.
const batch = 64

func serveOurs(w http.ResponseWriter, r *http.Request) error {
	c, err := websocket.Upgrade(w, r, websocket.Options{})
	if err != nil {
		return err
	}
	go func() { // lets net/http's memory go, as the host does
		defer func() { _ = c.Close(transport.CodeNormal, "") }()
		for {
			msg, err := c.Read()
			if err != nil {
				return
			}
			n, err := asked(msg)
			if err != nil || sendBatches(c, n) != nil {
				return
			}
		}
	}()
	return nil
}

func sendBatches(c *websocket.Conn, n int) error {
	full := make([][]byte, batch)
	for i := range full {
		full[i] = payload
	}
	for ; n > 0; n -= batch {
		if err := c.Write(full[:min(n, batch)]); err != nil {
			return err
		}
	}
	return nil
}

func serveGorilla(w http.ResponseWriter, r *http.Request) error {
	upgrader := gorilla.Upgrader{}
	c, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		_, msg, err := c.ReadMessage()
		if err != nil {
			return err
		}
		n, err := asked(msg)
		for ; n > 0 && err == nil; n-- {
			err = c.WriteMessage(gorilla.TextMessage, payload)
		}
		if err != nil {
			return err
		}
	}
}

func serveCoder(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	c, err := coder.Accept(w, r, nil)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	for {
		_, msg, err := c.Read(ctx)
		if err != nil {
			return err
		}
		n, err := asked(msg)
		for ; n > 0 && err == nil; n-- {
			err = c.Write(ctx, coder.MessageText, payload)
		}
		if err != nil {
			return err
		}
	}
}
