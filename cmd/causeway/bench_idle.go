package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
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
	h, err := startIdleHost(cmd.Context())
	if err != nil {
		return err
	}
	defer h.dropAll()
	if err := h.connect(cmd.Context(), few); err != nil {
		return err
	}
	before, err := h.memory()
	if err != nil {
		return err
	}
	if err := h.connect(cmd.Context(), count); err != nil {
		return err
	}
	after, err := h.memory()
	if err != nil {
		return err
	}
	each := func(now, then uint64) float64 { return (float64(now) - float64(then)) / float64(count) / 1024 }
	r.Add(measure.Figure{
		Name: fmt.Sprintf("idle connection, of %s", grouped(count)), Value: each(after.InUse(), before.InUse()), Unit: "KB", Goal: "<= 8 KB",
		Note: fmt.Sprintf("heap %s, stacks %s; resident %s",
			measure.Number(each(after.Heap, before.Heap)), measure.Number(each(after.Stacks, before.Stacks)), measure.Number(each(after.Resident, before.Resident))),
	})
	return h.stop()
}

// idleHost is a host in another process, and the clients of this one.
type idleHost struct {
	process *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Scanner
	socket  string
	clients []net.Conn
}

// startIdleHost must be ended with stop.
func startIdleHost(ctx context.Context) (*idleHost, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &idleHost{process: exec.CommandContext(ctx, self, "bench", idleHostCommand)}
	h.process.Stderr = os.Stderr
	if h.in, err = h.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.process.Start(); err != nil {
		return nil, err
	}
	h.lines = bufio.NewScanner(out)
	if !h.lines.Scan() {
		return nil, errors.Join(errors.New("the host that was to be measured does not start"), h.stop())
	}
	h.socket = h.lines.Text()
	return h, nil
}

// stop ends the host, whose input ends.
func (h *idleHost) stop() error { return errors.Join(h.in.Close(), h.process.Wait()) }

func (h *idleHost) dropAll() {
	for _, c := range h.clients {
		_ = c.Close()
	}
}

// memory asks the host what it holds.
func (h *idleHost) memory() (m measure.Memory, err error) {
	if _, err := io.WriteString(h.in, "\n"); err != nil {
		return m, err
	}
	if !h.lines.Scan() {
		return m, errors.New("the host that is measured has ended")
	}
	return m, json.Unmarshal(h.lines.Bytes(), &m)
}

// connect adds n clients.
func (h *idleHost) connect(ctx context.Context, n int) error {
	for range n {
		c, err := greet(ctx, h.socket, fmt.Sprint("idle-", len(h.clients)))
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
			return errors.Join(b.tellMemory(cmd.InOrStdin(), cmd.OutOrStdout()), b.close(cmd.Context()))
		},
	}
}

func (b *benchHost) tellMemory(in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, b.unix.Addr()); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		m, err := json.Marshal(measure.MemoryNow())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", m); err != nil {
			return err
		}
	}
	return nil
}
