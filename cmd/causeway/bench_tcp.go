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

// benchTCP is a forwarded port, from end to end on loopback.
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
		size := int64(benchAmount(cmd, 1<<30)) / int64(streams)
		for _, way := range []struct {
			name string
			move func(context.Context, string, int, int64) (float64, error)
		}{{"down", tcpbench.Download}, {"up", tcpbench.Upload}} {
			f := measure.Figure{Name: fmt.Sprintf("%s %s", tcpbench.Streams(streams), way.name), Unit: "MiB/s"}
			err := benchFigure(cmd, r, f, func() (float64, error) {
				speed, err := way.move(ctx, addr, streams, size)
				return speed / (1 << 20), err
			})
			if err != nil {
				return err
			}
		}
	}
	n := benchAmount(cmd, 2000)
	measuring(cmd, "connect and first byte of %d connections", n)
	rounds, err := benchRounds(cmd, 2, func() ([]float64, error) {
		times, err := tcpbench.FirstByte(ctx, addr, n)
		return []float64{microseconds(measure.Percentile(times, 0.5)), microseconds(measure.Percentile(times, 0.99))}, err
	})
	if err != nil {
		return err
	}
	r.Add(measure.Figure{Name: "connect and first byte, p50", Unit: "us"}.Over(rounds[0]))
	r.Add(measure.Figure{Name: "connect and first byte, p99", Unit: "us", Goal: "<= 2,000 us"}.Over(rounds[1]))
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
