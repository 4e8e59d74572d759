package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
	"golang.org/x/net/nettest"
)

// nearby is the real host in real time, reached over memory, with destinations on
// loopback.
type nearby struct {
	c  *client.Client
	ln net.Listener
	f  *tcp.Feature
}

func newNearby(t testing.TB, limits tcp.Limits) *nearby {
	t.Helper()
	n := &nearby{f: tcp.New(tcp.Options{Limits: limits})}
	h, err := host.New(context.Background(), host.Options{Features: []host.Feature{n.f}})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	n.c = client.New(t.Context(), func(context.Context) (transport.Conn, error) {
		near, far := memory.Pair(memory.Options{})
		serving.Go(func() { _ = h.Serve(context.Background(), far, host.Local) })
		return near, nil
	}, client.Options{})
	if n.ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.ln.Close()
		_ = n.c.Close()
		_ = h.Shutdown(context.Background())
		serving.Wait()
	})
	if err := n.c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// pair opens a connection and accepts its other end.
func (n *nearby) pair(ctx context.Context) (*client.TCPConn, net.Conn, error) {
	addr := netip.MustParseAddrPort(n.ln.Addr().String())
	near, err := n.c.DialTCP(ctx, addr.Addr().String(), int(addr.Port()), client.TCPOptions{})
	if err != nil {
		return nil, nil, err
	}
	far, err := n.ln.Accept()
	return near, far, err
}

// A TCPConn keeps the promises of a net.Conn, as the Go project tests them.
func TestTCPConnIsANetConn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two seconds of real time")
	}
	n := newNearby(t, tcp.Limits{})
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		near, far, err := n.pair(t.Context())
		if err != nil {
			return nil, nil, nil, err
		}
		return near, far, func() { _ = near.Close(); _ = far.Close() }, nil
	})
}

func TestDialContext(t *testing.T) {
	n := newNearby(t, tcp.Limits{})
	conn, err := n.c.DialContext(t.Context(), "tcp", n.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for address, network := range map[string]string{"localhost:80": "udp", "localhost": "tcp", "localhost:http": "tcp"} {
		if _, err := n.c.DialContext(t.Context(), network, address); err == nil {
			t.Errorf("%s %s was dialled", network, address)
		}
	}
}

// A thousand idle connections work, each costs little at both ends together, and
// all are gone afterwards.
func TestTCPThousandIdleConnections(t *testing.T) {
	count := scale.Count(1000)
	n := newNearby(t, tcp.Limits{PerClient: 1000})
	before := heap()
	var nears []*client.TCPConn
	var fars []net.Conn
	for range count {
		near, far, err := n.pair(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		nears, fars = append(nears, near), append(fars, far)
	}
	echo := func(k int) {
		t.Helper()
		if _, err := io.WriteString(nears[k], "ping"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(fars[k], fars[k], 4); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(nears[k], make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
	}
	for k := range nears {
		echo(k)
	}
	each := (heap() - before) / int64(count)
	t.Logf("%d bytes for each idle connection, at both ends", each)
	if each > 2*16<<10 {
		t.Errorf("an idle connection costs %d bytes", each)
	}
	for k := range nears {
		_ = fars[k].Close()
		if _, err := io.ReadAll(nears[k]); err != nil {
			t.Error(err)
		}
		_ = nears[k].Close()
	}
	for n.f.Len() > 0 { // a clean end needs no time limit: the last unsubscribe is on its way
		runtime.Gosched()
	}
}

// heap is what is in use after a collection, stacks included.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func BenchmarkTCPThroughput(b *testing.B) {
	n := newNearby(b, tcp.Limits{})
	near, far, err := n.pair(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	data := []byte(strings.Repeat("x", 64<<10))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		for range b.N {
			if _, err := near.Write(data); err != nil {
				return
			}
		}
	}()
	if _, err := io.CopyN(io.Discard, far, int64(b.N*len(data))); err != nil && !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
}
