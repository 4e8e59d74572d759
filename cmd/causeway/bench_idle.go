package main

import (
	"context"
	"fmt"
	"net"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"github.com/spf13/cobra"
)

// benchIdle is the memory of a connection that is initialized, follows the root
// and says nothing. The other end is a bare socket, so that little but the host's
// side is counted.
func benchIdle(cmd *cobra.Command, r *measure.Report) error {
	count := benchRounds(cmd, 5000)
	measuring(cmd, "%d idle connections", count)
	b, err := openBenchHost(cmd.Context())
	if err != nil {
		return err
	}
	conns := make([]net.Conn, 0, count)
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	before := measure.Heap()
	for i := range count {
		c, err := b.greet(cmd.Context(), fmt.Sprint("idle-", i))
		if err != nil {
			return fmt.Errorf("connection %d: %w; each takes two file descriptors, see 'ulimit -n'", i+1, err)
		}
		conns = append(conns, c)
	}
	each := float64(measure.Heap()-before) / float64(count) / 1024
	r.Add(measure.Figure{
		Name: "idle connection", Value: each, Unit: "KB", Goal: "<= 8 KB", Note: fmt.Sprintf("%s connections, both sockets", measure.Number(float64(count))),
	})
	return b.close(cmd.Context())
}

// greet connects a client that follows the root.
func (b *benchHost) greet(ctx context.Context, name string) (net.Conn, error) {
	c, reader, _, err := ws.Dialer{NetDial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", b.unix.Addr().String())
	}}.Dial(ctx, "ws://localhost/")
	if err != nil {
		return nil, err
	}
	if reader != nil {
		ws.PutReader(reader)
	}
	params, err := ahp.Marshal(ahp.InitializeParams{
		Channel: ahp.RootURI, ProtocolVersions: []string{ahp.Current.String()}, ClientID: name, InitialSubscriptions: []ahp.URI{ahp.RootURI},
	})
	if err != nil {
		return nil, err
	}
	if err := wsutil.WriteClientText(c, jsonrpc.AppendRequest(nil, jsonrpc.NumberID(1), ahp.MethodInitialize, params)); err != nil {
		return nil, err
	}
	_, err = wsutil.ReadServerText(c)
	return c, err
}
