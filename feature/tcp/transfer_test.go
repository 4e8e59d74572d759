package tcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// door is where the simulated network reaches the host over WebSocket.
const door = "host:7433"

// openDoor makes the door, and returns how to come through it under a name.
func (w *world) openDoor() func(name string) transport.Conn {
	ln, err := w.net.Listen(door)
	if err != nil {
		w.t.Fatal(err)
	}
	o := websocket.Options{PingInterval: -1}
	srv := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if c, err := websocket.Upgrade(rw, r, o); err == nil {
			_ = w.h.Serve(w.t.Context(), c, host.Local)
		}
	})}
	w.serving.Go(func() { _ = srv.Serve(ln) })
	w.listeners = append(w.listeners, closer{ln, srv})
	return func(name string) transport.Conn {
		c, err := websocket.Dial(w.t.Context(), "ws://"+door+"/", websocket.DialOptions{Options: o, Dialer: w.net.Dialer(name)})
		if err != nil {
			w.t.Fatal(err)
		}
		return c
	}
}

// closer is a listener whose server is closed with it.
type closer struct {
	net.Listener
	srv *http.Server
}

func (c closer) Close() error { return c.srv.Close() }

// digest is what arrived at an end.
type digest struct {
	sum [sha256.Size]byte
	n   int64
	err error
}

func digestOf(r io.Reader) digest {
	h := sha256.New()
	n, err := io.Copy(h, r)
	return digest{[sha256.Size]byte(h.Sum(nil)), n, err}
}

// source is n bytes that depend on a seed.
func source(seed uint64, n int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), 1}), n)
}

// TestTransfers proves bytes equal both ways at once: every size that is on some
// edge, eight streams at a time, over a network that stalls and splits.
func TestTransfers(t *testing.T) {
	large := int64(scale.Count(1024)) << 20
	if testing.Short() {
		large = 256 << 10
	}
	text := newDataText("ahp-tcp:/t0-0")
	frame := int64(text.room(ours.MaxFrameBytes))
	tests := []struct {
		name   string
		sizes  []int64
		limits flow.Limits // of the client and of the host
	}{
		{"edges", []int64{0, 1, 65_535, 65_536, frame - 1, frame, frame + 1, chunkBytes}, ours},
		{"windows", []int64{1572863, 1572864, 1572865, 2 * frame, parkedBytes, parkedBytes + 1, parkedBytes - 1, 0}, ours},
		{"large", []int64{large / 8, large / 8, large / 8, large / 8, large / 8, large / 8, large / 8, large}, ours},
		{"odd window", []int64{0, 1, 100_000, 100_001}, flow.Limits{WindowBytes: 4099, MaxFrameBytes: 1024}},
		{"smallest", []int64{0, 1, 5_000}, flow.Limits{WindowBytes: 1, MaxFrameBytes: 1024}},
		{"half", []int64{65_535, 300_000}, flow.Limits{WindowBytes: 4096, MaxFrameBytes: 1024}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, Options{}, host.Limits{WindowBytes: tt.limits.WindowBytes, WindowFrameBytes: tt.limits.MaxFrameBytes}, func(w *world) {
				w.transfers(tt.sizes, tt.limits)
			})
		})
	}
}

func (w *world) transfers(sizes []int64, l flow.Limits) {
	t, dial := w.t, w.openDoor()
	queue := make(chan int64, len(sizes))
	w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
		// Which stream this is, its first byte would have to say; so it is told.
		n := <-queue
		w.start(func() { _, _ = io.Copy(conn, source(uint64(n)+1, n)); _ = conn.CloseWrite() })
		if got, want := digestOf(struct{ io.Reader }{conn}), digestOf(source(uint64(n), n)); got != want {
			t.Errorf("the destination got %d of %d bytes, %v", got.n, n, got.err)
		}
	})
	for _, k := range []*simnet.Link{w.net.Link("client", door), w.net.Link("host", "127.0.0.1:80")} {
		k.Set(simnet.Profile{Latency: 2 * time.Millisecond, Jitter: time.Millisecond, MaxPieceBytes: 30_000, BufferBytes: 128 << 10})
	}
	c := w.far(dial("client"))
	ctx, cancel := context.WithCancel(t.Context())
	w.start(func() { w.stalls(ctx) })
	done := make(chan struct{})
	for i, n := range sizes {
		queue <- n // connections are made one after the other
		s := make(chan struct{})
		w.start(func() {
			transfer(t, c, fmt.Sprintf("ahp-tcp:/t%d-%d", i, n), n, l, s)
			done <- struct{}{}
		})
		<-s
	}
	for range sizes {
		<-done
	}
	for w.f.Len() > 0 { // the last bytes are still on their way to the destinations
		time.Sleep(100 * time.Millisecond)
	}
	cancel()
	c.close()
}

// transfer sends n bytes each way through a stream, and wants both to arrive. It
// says when the connection is made.
func transfer(t *testing.T, f *far, uri ahp.URI, n int64, l flow.Limits, made chan<- struct{}) {
	err := f.create(uri, "127.0.0.1", 80)
	close(made)
	if err != nil {
		t.Error(err)
		return
	}
	s, err := f.subscribe(uri, l)
	if err != nil {
		t.Error(err)
		return
	}
	up := make(chan error, 1)
	f.w.start(func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{s}, source(uint64(n), n), make([]byte, 70_000))
		up <- errors.Join(err, s.CloseWrite())
	})
	if got, want := digestOf(s), digestOf(source(uint64(n)+1, n)); got != want {
		t.Errorf("%s: the client got %d of %d bytes, %v", uri, got.n, n, got.err)
	}
	if err := <-up; err != nil {
		t.Errorf("%s: %v", uri, err)
	}
	_ = s.unsubscribe()
}

// stalls lets nothing pass on one of the links, again and again.
func (w *world) stalls(ctx context.Context) {
	rng := rand.New(rand.NewPCG(7, 7))
	links := []*simnet.Link{w.net.Link("client", door), w.net.Link("host", "127.0.0.1:80")}
	for ctx.Err() == nil {
		k, d := links[rng.IntN(2)], []simnet.Direction{simnet.Up, simnet.Down}[rng.IntN(2)]
		k.Stall(d)
		pause(ctx, time.Duration(rng.IntN(300))*time.Millisecond)
		k.Resume(d)
		pause(ctx, time.Duration(rng.IntN(500))*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// TestFairness: beside seven streams at full speed and one that is stalled, an
// action of a channel of the same connection comes within one frame's time of each
// of the seven, and a ping too (case 59). The stalled one holds up nobody.
func TestFairness(t *testing.T) {
	bubble(t, Options{}, host.Limits{}, func(w *world) {
		rate, rounds := int64(10<<20), 50 // bytes a second
		if testing.Short() {
			rate, rounds = 3<<20, 5
		}
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
			b := make([]byte, 256<<10)
			for {
				if _, err := conn.Write(b); err != nil {
					_ = conn.Close()
					return
				}
			}
		})
		dial := w.openDoor()
		w.net.Link("client", door).Set(simnet.Profile{BytesPerSecond: rate}, simnet.Down)
		c := w.far(dial("client"))
		heard := make(chan struct{}, 1)
		c.mu.Lock()
		c.other = func(m jsonrpc.Message) {
			if m.Method == ahp.MethodAction {
				heard <- struct{}{}
			}
		}
		c.mu.Unlock()
		if _, err := c.call(ahp.MethodSubscribe, `{"channel":"ahp-root://"}`); err != nil {
			t.Fatal(err)
		}
		moved := make([]int64, 8)
		for i := range moved {
			s := c.mustOpen(fmt.Sprintf("ahp-tcp:/t%d", i), "127.0.0.1", 80, ours)
			if i == 0 {
				continue // stalled: nobody reads it
			}
			w.start(func() {
				b := make([]byte, 64<<10)
				for {
					n, err := s.Read(b)
					if err != nil {
						return
					}
					moved[i] += int64(n)
				}
			})
		}
		time.Sleep(5 * time.Second)
		// One frame of each, what one write may take more, and the link's buffer.
		wire := 7*(ours.MaxFrameBytes/2) + int64(host.DefaultLimits.BatchBytes) + simnet.DefaultBufferBytes
		most := time.Duration(wire) * time.Second / time.Duration(rate)
		var worst time.Duration
		for i := range rounds {
			time.Sleep(time.Duration(37+i) * time.Millisecond)
			began := time.Now()
			w.h.SetAgents([]ahp.AgentInfo{{Provider: fmt.Sprint("p", i), DisplayName: "x"}})
			<-heard
			worst = max(worst, time.Since(began))
			began = time.Now()
			if _, err := c.call(ahp.MethodPing, `{"channel":"ahp-root://"}`); err != nil {
				t.Fatal(err)
			}
			worst = max(worst, time.Since(began))
		}
		t.Logf("an action came after %v at most; a frame of each takes %v", worst, most)
		if worst > most {
			t.Errorf("an action took %v, a frame of each takes %v", worst, most)
		}
		synctest.Wait()
		least, sum := moved[1], int64(0)
		for _, n := range moved[1:] {
			least, sum = min(least, n), sum+n
		}
		if least < sum/7-2*ours.MaxFrameBytes {
			t.Errorf("the streams moved %v: that is not fair", moved)
		}
		c.close()
	})
}
