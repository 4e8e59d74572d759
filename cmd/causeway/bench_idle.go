package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"github.com/spf13/cobra"
)

// benchIdle is what a client costs the process of the host while it is connected
// and initialized, follows the root and says nothing: heap and stacks after a
// collection, with many such clients less with few, for each. The clients are in
// this process, the host is in one of its own.
func benchIdle(cmd *cobra.Command, r *measure.Report) error {
	const few = 100 // after them what is made once is made
	count := benchAmount(cmd, 5000)
	measuring(cmd, "%d idle connections", count)
	host, err := measure.StartSubject(cmd.Context(), "bench", idleHostCommand)
	if err != nil {
		return err
	}
	h := &idleHost{Subject: host}
	defer h.dropAll()
	if err := h.connect(cmd.Context(), few); err != nil {
		return err
	}
	before, err := h.Memory()
	if err != nil {
		return err
	}
	if err := h.connect(cmd.Context(), count); err != nil {
		return err
	}
	after, err := h.Memory()
	if err != nil {
		return err
	}
	each := func(now, then uint64) float64 { return (float64(now) - float64(then)) / float64(count) / 1024 }
	r.Add(measure.Figure{
		Name: fmt.Sprintf("idle connection, of %s", grouped(count)), Value: each(after.InUse(), before.InUse()), Unit: "KB", Goal: "<= 8 KB",
		Note: fmt.Sprintf("heap %s, stacks %s; resident %s",
			measure.Number(each(after.Heap, before.Heap)), measure.Number(each(after.Stacks, before.Stacks)), measure.Number(each(after.Resident, before.Resident))),
	})
	return h.Stop()
}

// idleHost is a host in another process, and the clients of this one.
type idleHost struct {
	*measure.Subject
	clients []net.Conn
}

func (h *idleHost) dropAll() {
	for _, c := range h.clients {
		_ = c.Close()
	}
}

// connect adds n clients.
func (h *idleHost) connect(ctx context.Context, n int) error {
	for range n {
		c, err := greet(ctx, h.Addr(), fmt.Sprint("idle-", len(h.clients)))
		if err != nil {
			return fmt.Errorf("connection %d: %w; each takes a file descriptor of this process and one of the host, see 'ulimit -n'", len(h.clients)+1, err)
		}
		h.clients = append(h.clients, c)
	}
	return nil
}

// greet connects a client that follows the root.
func greet(ctx context.Context, socket, name string) (net.Conn, error) {
	c, reader, _, err := ws.Dialer{NetDial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
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

const idleHostCommand = "idle-host"

// newBenchIdleHost builds the other side of benchIdle: a host that prints its
// socket, then what memory it holds, once for each line it is given.
func newBenchIdleHost() *cobra.Command {
	return &cobra.Command{
		Use: idleHostCommand, Hidden: true, Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := openBenchHost(cmd.Context())
			if err != nil {
				return err
			}
			return errors.Join(measure.Present(b.unix.Addr().String(), cmd.InOrStdin(), cmd.OutOrStdout()), b.close(cmd.Context()))
		},
	}
}
