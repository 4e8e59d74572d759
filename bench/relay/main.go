// Command relay measures notifications and calls to client services beside NATS
// core over TCP, in one run and in turns:
//
//	cd bench && go run ./relay [-quick] [-rounds 5] [-json]
//
// Both servers and both pairs of ends live in this process and talk over loopback
// sockets. NATS is given the same payloads, publishes to one subject with one
// subscriber, and answers calls with its request and reply.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/internal/measure"
	"github.com/causeway-ahp/causeway/internal/relaybench"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

func main() {
	quick := flag.Bool("quick", false, "measure little")
	rounds := flag.Int("rounds", 5, "how often each measurement is made; the median counts")
	asJSON := flag.Bool("json", false, "print each figure as a JSON object")
	flag.Parse()
	if err := run(context.Background(), *quick, *rounds, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, quick bool, rounds int, asJSON bool) (err error) {
	h, err := openHost(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close(ctx)) }()
	ours, err := relaybench.Causeway(ctx, "ws://"+h.listener.Addr().String()+"/")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	peer, err := openNATS()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, peer.Close()) }()

	scale := 1000
	if quick {
		scale = 100
	}
	r := measure.NewReport("client services beside " + peer.Name)
	r.Section("Client services")
	say := func(name string) { fmt.Fprintln(os.Stderr, "measuring", name) }
	if err := relaybench.Compare(ctx, ours, peer, rounds, scale, r, say); err != nil {
		return err
	}
	if asJSON {
		return r.WriteJSON(os.Stdout)
	}
	return r.WriteTable(os.Stdout)
}

// bench host: the host of this repository behind a loopback listener.
type benchHost struct {
	door     *endpoint.Endpoint
	listener net.Listener
	serving  sync.WaitGroup
}

func openHost(ctx context.Context) (*benchHost, error) {
	h, err := host.New(ctx, host.Options{Features: []host.Feature{service.New(service.Options{})}})
	if err != nil {
		return nil, err
	}
	door, err := endpoint.New(ctx, h, endpoint.Options{})
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &benchHost{door: door, listener: ln}
	b.serving.Go(func() { _ = door.Serve(ln) })
	return b, nil
}

func (b *benchHost) close(ctx context.Context) error {
	err := b.door.Shutdown(ctx)
	b.serving.Wait()
	return err
}

// openNATS starts the real server on a loopback port and connects two clients.
func openNATS() (*relaybench.Ends, error) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		return nil, err
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return nil, errors.New("the NATS server does not start")
	}
	far, err := nats.Connect(s.ClientURL())
	if err != nil {
		return nil, err
	}
	near, err := nats.Connect(s.ClientURL())
	if err != nil {
		return nil, err
	}
	e := relaybench.NewEnds("NATS core " + server.VERSION)
	_, err1 := far.Subscribe("m", func(*nats.Msg) { e.Received() })
	_, err2 := far.Subscribe("call", func(m *nats.Msg) { _ = m.Respond([]byte(`{"ok":true}`)) })
	if err := errors.Join(err1, err2, far.Flush()); err != nil {
		return nil, err
	}
	e.Notify = func(payload []byte) error { return near.Publish("m", payload) }
	e.Flush = func() error { return nil } // its client sends by itself, as ours does
	e.Call = func(payload []byte) error {
		_, err := near.Request("call", payload, 10*time.Second)
		return err
	}
	e.Close = func() error {
		near.Close()
		far.Close()
		s.Shutdown()
		s.WaitForShutdown()
		return nil
	}
	return e, nil
}
