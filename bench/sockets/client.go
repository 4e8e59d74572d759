package main

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
	"github.com/gobwas/ws"
)

// stream is how many messages a second arrive of n that the server sends.
func stream(ctx context.Context, s *measure.Subject, n int) (float64, error) {
	c, err := websocket.Dial(ctx, "ws://"+s.Addr()+"/", websocket.DialOptions{})
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close(transport.CodeNormal, "") }()
	began := time.Now()
	if err := c.Write([][]byte{[]byte(strconv.Itoa(n))}); err != nil {
		return 0, err
	}
	var msg []byte
	for range n {
		if msg, err = c.ReadOver(msg); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// idle is what each of n connections costs the server, in KB.
func idle(ctx context.Context, s *measure.Subject, n int) (float64, error) {
	before, err := s.Memory()
	if err != nil {
		return 0, err
	}
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range n {
		c, _, _, err := ws.Dial(ctx, "ws://"+s.Addr()+"/")
		if err != nil {
			return 0, err
		}
		conns = append(conns, c)
	}
	after, err := s.Memory()
	return (float64(after.InUse()) - float64(before.InUse())) / float64(n) / 1024, err
}
