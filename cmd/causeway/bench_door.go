package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/agent/shell"
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
)

// benchHost is a host in this process, reached over sockets as any other.
type benchHost struct {
	host    *host.Host
	door    *endpoint.Endpoint
	tcp     net.Listener
	unix    net.Listener
	dir     string
	serving sync.WaitGroup
}

// openBenchHost must be ended with close.
func openBenchHost(ctx context.Context) (_ *benchHost, err error) {
	b := new(benchHost)
	if b.dir, err = os.MkdirTemp("", "causeway-bench-"); err != nil {
		return nil, err
	}
	if b.host, err = host.New(ctx, host.Options{Features: benchFeatures()}); err != nil {
		return nil, err
	}
	if b.door, err = endpoint.New(ctx, b.host, endpoint.Options{}); err != nil {
		return nil, err
	}
	if b.tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if b.unix, err = net.Listen("unix", filepath.Join(b.dir, "host.sock")); err != nil {
		return nil, err
	}
	for _, ln := range []net.Listener{b.tcp, b.unix} {
		b.serving.Go(func() { _ = b.door.Serve(ln) })
	}
	return b, nil
}

func benchFeatures() []host.Feature {
	return []host.Feature{session.New(session.Options{Providers: []agent.Provider{shell.New(shell.Options{})}}), service.New(service.Options{})}
}

func (b *benchHost) url() string { return "ws://" + b.tcp.Addr().String() + "/" }

func (b *benchHost) close(ctx context.Context) error {
	err := b.door.Shutdown(ctx)
	b.serving.Wait()
	return errors.Join(err, os.RemoveAll(b.dir))
}
