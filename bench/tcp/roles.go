package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
)

// play is what a process of this program does for another one: it listens, prints
// its address and serves until it is ended.
func play(ctx context.Context, role string, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("role %s needs a target", role)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
	fmt.Println(ln.Addr())
	dialTarget := func() (io.ReadWriteCloser, error) { return new(net.Dialer).DialContext(ctx, "tcp", args[0]) }
	switch role {
	case "copy":
		return proxy(ln, dialTarget)
	case "yamux-far":
		return yamuxFar(ctx, ln, dialTarget)
	case "yamux-near":
		return yamuxNear(ctx, ln, "ws://"+args[0]+"/")
	}
	return fmt.Errorf("there is no role %s", role)
}

// proxy joins what connects with what dial gives.
func proxy(ln net.Listener, dial func() (io.ReadWriteCloser, error)) error {
	for {
		near, err := ln.Accept()
		if err != nil {
			return nil
		}
		go func() {
			far, err := dial()
			if err != nil {
				_ = near.Close()
				return
			}
			join(near, far)
		}()
	}
}

// join copies both ways until one way has ended.
func join(a, b io.ReadWriteCloser) {
	var copying sync.WaitGroup
	closing := func() {
		_ = a.Close()
		_ = b.Close()
	}
	copying.Go(func() { _, _ = io.Copy(a, b); closing() })
	copying.Go(func() { _, _ = io.Copy(b, a); closing() })
	copying.Wait()
}

func yamuxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.MaxStreamWindowSize = 4 << 20
	c.LogOutput = io.Discard
	return c
}

func yamuxFar(ctx context.Context, ln net.Listener, dial func() (io.ReadWriteCloser, error)) error {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		ws.SetReadLimit(-1)
		session, err := yamux.Server(websocket.NetConn(ctx, ws, websocket.MessageBinary), yamuxConfig())
		if err == nil {
			_ = proxy(session, dial)
		}
	})}
	if err := server.Serve(ln); ctx.Err() == nil {
		return err
	}
	return nil
}

func yamuxNear(ctx context.Context, ln net.Listener, url string) error {
	ws, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	ws.SetReadLimit(-1)
	session, err := yamux.Client(websocket.NetConn(ctx, ws, websocket.MessageBinary), yamuxConfig())
	if err != nil {
		return err
	}
	return proxy(ln, func() (io.ReadWriteCloser, error) { return session.Open() })
}
