package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/internal/tcpbench"
	"github.com/spf13/cobra"
)

// newBenchTCP builds 'bench tcp': a forwarded port, from end to end on loopback.
func newBenchTCP() *cobra.Command {
	cmd := benchCommand("tcp", "A forwarded port: throughput, connect and first byte", benchTCP)
	cmd.GroupID = ""
	return cmd
}

func benchTCP(cmd *cobra.Command, r *measure.Report) error {
	t, err := openTunnel(cmd.Context())
	if err != nil {
		return err
	}
	return errors.Join(measureTunnel(cmd, r, t.addr()), t.close())
}

// measureTunnel measures what leads from a local port to a destination.
func measureTunnel(cmd *cobra.Command, r *measure.Report, addr string) error {
	ctx := cmd.Context()
	for _, streams := range []int{1, 8} {
		size := int64(benchRounds(cmd, 1<<30)) / int64(streams)
		for _, way := range []struct {
			name string
			move func(context.Context, string, int, int64) (float64, error)
		}{{"down", tcpbench.Download}, {"up", tcpbench.Upload}} {
			measuring(cmd, "%d streams %s", streams, way.name)
			speed, err := way.move(ctx, addr, streams, size)
			if err != nil {
				return err
			}
			r.Add(measure.Figure{Name: fmt.Sprintf("TCP, %d streams %s", streams, way.name), Value: speed / (1 << 20), Unit: "MiB/s"})
		}
	}
	n := benchRounds(cmd, 3000)
	measuring(cmd, "connect and first byte of %d connections", n)
	times, err := tcpbench.FirstByte(ctx, addr, n)
	if err != nil {
		return err
	}
	for _, p := range []float64{0.5, 0.99} {
		f := measure.Figure{Name: "TCP, connect and first byte", Value: microseconds(measure.Percentile(times, p)), Unit: fmt.Sprintf("us, p%.0f", 100*p)}
		if p == 0.99 {
			f.Goal = "<= 2,000"
		}
		r.Add(f)
	}
	return nil
}

// tunnel is a destination, a host and a forwarder in this process, joined by
// loopback sockets.
type tunnel struct {
	destination *tcpbench.Destination
	door        *endpoint.Endpoint
	forwarder   *forwarder
	stop        context.CancelFunc
	running     sync.WaitGroup
}

func openTunnel(ctx context.Context) (*tunnel, error) {
	h, err := host.New(ctx, host.Options{Features: []host.Feature{tcp.New(tcp.Options{})}})
	if err != nil {
		return nil, err
	}
	t := new(tunnel)
	if t.destination, err = tcpbench.NewDestination(); err != nil {
		return nil, err
	}
	if t.door, err = endpoint.New(ctx, h, endpoint.Options{}); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t.running.Go(func() { _ = t.door.Serve(ln) })
	c, err := client.Dial(ctx, "ws://"+ln.Addr().String()+"/", client.Options{})
	if err != nil {
		return nil, err
	}
	spec, err := parseForward("0:" + t.destination.Addr())
	if err != nil {
		return nil, err
	}
	ports, err := listenAll(ctx, []forwardSpec{spec})
	if err != nil {
		return nil, err
	}
	t.forwarder = &forwarder{c: c, listeners: ports, report: quietReport()}
	ctx, t.stop = context.WithCancel(ctx)
	t.running.Go(func() { _ = t.forwarder.run(ctx) })
	return t, nil
}

// addr is the local port.
func (t *tunnel) addr() string { return t.forwarder.listeners[0].Addr().String() }

func (t *tunnel) close() error {
	t.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := errors.Join(t.destination.Close(), t.door.Shutdown(ctx))
	t.running.Wait()
	return err
}

// quietReport is the report of a forwarder that nobody watches.
func quietReport() *forwardReport {
	return &forwardReport{errs: io.Discard, open: make(map[*forwardEntry]struct{}), said: make(map[string]time.Time)}
}
