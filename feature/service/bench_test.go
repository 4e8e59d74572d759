package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
)

// tap is a carrier that costs nothing: what the host reads comes from a channel
// of messages, each to be read so many times; what it writes goes to wrote.
type tap struct {
	in    chan burst
	now   burst
	done  chan struct{}
	once  sync.Once
	wrote func(batch [][]byte)
}

type burst struct {
	msg   []byte
	times int
}

func newTap(wrote func(batch [][]byte)) *tap {
	return &tap{in: make(chan burst, 16), done: make(chan struct{}), wrote: wrote}
}

func (c *tap) Read() ([]byte, error) {
	for c.now.times == 0 {
		select {
		case c.now = <-c.in:
		case <-c.done:
			return nil, errors.New("closed")
		}
	}
	c.now.times--
	return c.now.msg, nil
}

func (c *tap) Write(batch [][]byte) error { c.wrote(batch); return nil }

func (c *tap) Close(transport.Code, string) error {
	c.once.Do(func() { close(c.done) })
	return nil
}

func (c *tap) Kind() transport.Kind { return transport.KindMemory }
func (c *tap) RemoteAddr() string   { return "tap" }

func (c *tap) send(msg string) { c.in <- burst{[]byte(msg), 1} }

// reportCPU measures what the process used for each operation until the result is
// called: on a busy machine the time that passed says little.
func reportCPU(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Nanoseconds())/float64(b.N), "cpu-ns/op") }
}

// relayBench is a host with a sender and the owner of one service.
type relayBench struct {
	w             *world
	sender, owner *tap
	id            string
	delivered     atomic.Int64
	got           chan struct{} // told when delivered reaches want
	want          atomic.Int64
}

func newRelayBench(b *testing.B, limits host.Limits) *relayBench {
	b.Helper()
	rb := &relayBench{w: newWorld(b, service.Options{}, host.Options{Limits: limits}), got: make(chan struct{}, 1)}
	answer := make(chan string, 16)
	first := func(batch [][]byte) {
		for _, m := range batch {
			select {
			case answer <- string(m):
			default:
			}
		}
	}
	rb.sender, rb.owner = newTap(first), newTap(first)
	for name, c := range map[string]*tap{"sender": rb.sender, "owner": rb.owner} {
		rb.w.serving.Go(func() { _ = rb.w.h.Serve(b.Context(), c, host.Local) })
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q}}`, name))
		<-answer
	}
	rb.owner.send(`{"jsonrpc":"2.0","id":2,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":{}}}`)
	_, rest, _ := strings.Cut(<-answer, `"serviceId":"`)
	rb.id, _, _ = strings.Cut(rest, `"`)
	return rb
}

func (rb *relayBench) message(method string, size int) []byte {
	head := fmt.Sprintf(`{"jsonrpc":"2.0",%s"params":{"channel":"ahp-client-services://","serviceId":"%s","method":"update","params":{"data":"`, method, rb.id)
	const tail = `"}}}`
	return []byte(head + strings.Repeat("x", max(0, size-len(head)-len(tail))) + tail)
}

// BenchmarkNotification is a notification on its way through the host: read,
// scanned, looked up, allowed, stamped, queued, taken out. The carriers cost
// nothing. The goal is 1.2 µs with a real carrier.
func BenchmarkNotification(b *testing.B) {
	for _, size := range []int{200, 16 << 10} {
		b.Run(fmt.Sprint("bytes=", size), func(b *testing.B) {
			const burstSize = 256
			rb := newRelayBench(b, host.Limits{})
			rb.owner.wrote = func(batch [][]byte) {
				if rb.delivered.Add(int64(len(batch))) == rb.want.Load() {
					rb.got <- struct{}{}
				}
			}
			msg := rb.message(`"method":"clientService/notify",`, size)
			b.SetBytes(int64(len(msg)))
			defer reportCPU(b)()
			for left := b.N; left > 0; left -= burstSize {
				n := min(left, burstSize)
				rb.want.Add(int64(n))
				rb.sender.in <- burst{msg, n}
				<-rb.got
			}
		})
	}
}

// BenchmarkCall is a call and its answer: four messages.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{200, 16 << 10} {
		b.Run(fmt.Sprint("bytes=", size), func(b *testing.B) {
			rb := newRelayBench(b, host.Limits{})
			const head = `{"jsonrpc":"2.0","id":`
			rb.owner.wrote = func(batch [][]byte) {
				for _, m := range batch {
					id, _, _ := bytes.Cut(m[len(head):], []byte(","))
					answer := jsonrpc.AppendResult(nil, number(id), []byte(`{"ok":true}`))
					rb.owner.in <- burst{answer, 1}
				}
			}
			rb.sender.wrote = func([][]byte) { rb.got <- struct{}{} }
			msg := rb.message(`"id":7,"method":"clientService/request",`, size)
			defer reportCPU(b)()
			for range b.N {
				rb.sender.in <- burst{msg, 1}
				<-rb.got
			}
		})
	}
}

func number(text []byte) jsonrpc.ID {
	id, err := jsonrpc.ParseID(text)
	if err != nil {
		panic(err)
	}
	return id
}
