package client_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
)

// The tests here have the real host, which reaches destinations over the simulated
// network.

// destination is where the tests' connections go; the policy lets everybody reach
// loopback.
const destination = "127.0.0.1:9000"

// tcpOptions let the host dial into the simulated network.
func (w *world) tcpOptions() tcp.Options {
	return tcp.Options{Limits: w.tcpLimits, Dial: func(ctx context.Context, addr netip.AddrPort) (tcp.Socket, error) {
		conn, err := w.net.Dial(ctx, "host", addr.String())
		if err != nil {
			return nil, err
		}
		return conn.(*simnet.Conn), nil
	}}
}

// destinations lets serve have every connection to the destination, until the
// test ends.
func (w *world) destinations(serve func(conn *simnet.Conn)) {
	w.t.Helper()
	ln, err := w.net.Listen(destination)
	if err != nil {
		w.t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				serve(conn.(*simnet.Conn))
			})
		}
	})
	w.t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
}

// tunnel opens a connection to the destination.
func (w *world) tunnel(c *client.Client, o client.TCPOptions) *client.TCPConn {
	w.t.Helper()
	conn, err := c.DialTCP(w.t.Context(), "127.0.0.1", 9000, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return conn
}

// accepted is a world in which the test holds the destination's ends itself.
func (w *world) accepted() <-chan *simnet.Conn {
	ends := make(chan *simnet.Conn, 16)
	done := make(chan struct{})
	w.destinations(func(conn *simnet.Conn) {
		ends <- conn
		<-done
	})
	w.t.Cleanup(func() { close(done) })
	return ends
}

// amount is how much of the full size a test moves: less where the race detector
// makes every byte dear.
func amount(full int) int64 {
	n := scale.Count(full)
	if testing.Short() {
		n = max(1, n/10)
	}
	return int64(n)
}

// noise is a stream of bytes from a seed.
func noise(seed uint64, size int64) io.Reader {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	return io.LimitReader(rand.NewChaCha8(key), size)
}

func noiseSum(seed uint64, size int64) [32]byte {
	h := sha256.New()
	_, _ = io.Copy(h, noise(seed, size))
	return [32]byte(h.Sum(nil))
}

// sumOf reads to the end.
func sumOf(r io.Reader) ([32]byte, error) {
	h := sha256.New()
	_, err := io.Copy(h, struct{ io.Reader }{r})
	return [32]byte(h.Sum(nil)), err
}

// exchange sends noise one way and reads noise the other way, at the same time,
// and ends in order.
func exchange(conn interface {
	io.ReadWriter
	CloseWrite() error
}, send, receive uint64, size int64) error {
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(struct{ io.Writer }{conn}, noise(send, size))
		if err == nil {
			err = conn.CloseWrite()
		}
		sent <- err
	}()
	got, err := sumOf(conn)
	if err == nil && got != noiseSum(receive, size) {
		err = errors.New("other bytes were received")
	}
	return errors.Join(err, <-sent)
}

// Bytes are equal both ways, whatever the network does to writes, and for each
// size where something begins or ends (cases 45, 61).
func TestTCPBytesAreEqual(t *testing.T) {
	const mb = 1 << 20
	windows := client.Window{Bytes: 4099, MaxFrameBytes: 1024}
	for _, test := range []struct {
		size    int64
		streams int
		window  client.Window
	}{
		{0, 1, client.Window{}},
		{1, 1, client.Window{}},
		{65535, 2, client.Window{}},
		{65536, 2, client.Window{}},
		{98217, 1, client.Window{}}, // about a frame
		{98218, 1, client.Window{}},
		{1572864, 1, client.Window{}}, // about a window
		{amount(1024 * mb), 1, client.Window{}},
		{amount(128 * mb), 8, client.Window{}},
		{amount(2 * mb), 2, windows},
		{amount(mb / 8), 1, client.Window{Bytes: 1, MaxFrameBytes: 1024}},
	} {
		t.Run(fmt.Sprintf("%d bytes, %d streams, window %d", test.size, test.streams, test.window.Bytes), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.opts.Limits.WindowBytes, w.opts.Limits.WindowFrameBytes = test.window.Bytes, test.window.MaxFrameBytes
				w.stop()
				w.start()
				profile := simnet.Profile{Latency: time.Millisecond, Jitter: time.Millisecond, MaxPieceBytes: 100_000}
				w.link("laptop").Set(profile)
				w.net.Link("host", destination).Set(profile)
				w.destinations(func(conn *simnet.Conn) {
					if err := exchange(conn, 2, 1, test.size); err != nil {
						t.Errorf("destination: %v", err)
					}
				})
				c := w.dial("laptop", client.Options{})
				stop := make(chan struct{})
				var stalls sync.WaitGroup
				stalls.Go(func() { stallNowAndThen(w.link("laptop"), stop) })
				var streams sync.WaitGroup
				for range test.streams {
					streams.Go(func() {
						conn := w.tunnel(c, client.TCPOptions{Window: test.window})
						if err := exchange(conn, 1, 2, test.size); err != nil {
							t.Errorf("client: %v", err)
						}
						_ = conn.Close()
					})
				}
				streams.Wait()
				close(stop)
				stalls.Wait()
				time.Sleep(time.Second)
				if n := w.tcp.Len(); n != 0 {
					t.Errorf("the host still has %d connections", n)
				}
			})
		})
	}
}

// stallNowAndThen stops one direction or the other for a while.
func stallNowAndThen(link *simnet.Link, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			link.Resume()
			return
		case <-time.After(50 * time.Millisecond):
		}
		link.Stall(simnet.Direction(n % 2))
		time.Sleep(30 * time.Millisecond)
		link.Resume()
	}
}

// When the network cuts, both ends see a reset and never a clean end, and a new
// connection works as soon as the client is back.
func TestTCPCutIsAReset(t *testing.T) {
	for _, at := range []int64{1, 1000, 300_000, 1_000_001} {
		bubble(t, func(t *testing.T, w *world) {
			ended := make(chan error, 2)
			w.destinations(func(conn *simnet.Conn) {
				go func() { _, _ = io.Copy(conn, noise(1, 1<<40)) }()
				_, err := sumOf(conn)
				ended <- err
			})
			c := w.dial("laptop", client.Options{})
			conn := w.tunnel(c, client.TCPOptions{})
			w.link("laptop").CutAfter(simnet.Down, at)
			go func() { _, _ = io.Copy(struct{ io.Writer }{conn}, noise(2, 1<<40)) }()
			_, err := sumOf(conn)
			wantErr(t, "client", err, client.ErrConnectionLost)
			wantErr(t, "destination", <-ended, syscall.ECONNRESET)
			waitState(t, c, client.Live)
			again := w.tunnel(c, client.TCPOptions{})
			again.Abort()
			wantErr(t, "destination", <-ended, syscall.ECONNRESET)
		})
	}
}

// Case 44 and 53: half-closes in either direction; what was queued before the end
// arrives before it.
func TestTCPHalfCloses(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const size = 3 << 20
		w.destinations(func(conn *simnet.Conn) { // reads to the end, then answers
			got, err := sumOf(conn)
			if err != nil || got != noiseSum(1, size) {
				t.Errorf("destination: %v", err)
			}
			_, _ = io.Copy(conn, noise(2, size))
		})
		c := w.dial("laptop", client.Options{})
		conn := w.tunnel(c, client.TCPOptions{})
		if _, err := conn.ReadFrom(noise(1, size)); err != nil {
			t.Fatal(err)
		}
		_ = conn.CloseWrite()
		time.Sleep(time.Minute)
		if got, err := sumOf(conn); err != nil || got != noiseSum(2, size) {
			t.Errorf("client: %v", err)
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		const size = 3 << 20
		last := make(chan string, 1)
		w.destinations(func(conn *simnet.Conn) { // ends at once, then reads
			_, _ = io.Copy(conn, noise(2, size))
			_ = conn.CloseWrite()
			got, _ := io.ReadAll(conn)
			last <- string(got)
		})
		c := w.dial("laptop", client.Options{})
		w.link("laptop").Set(simnet.Profile{BytesPerSecond: 1 << 20})
		conn := w.tunnel(c, client.TCPOptions{})
		if got, err := sumOf(conn); err != nil || got != noiseSum(2, size) {
			t.Errorf("client: %v", err)
		}
		time.Sleep(time.Minute)
		_, _ = io.WriteString(conn, "last words")
		_ = conn.Close()
		if got := <-last; got != "last words" {
			t.Errorf("the destination got %q", got)
		}
	})
}

// A destination that reads nothing for five seconds and then everything gets
// everything, and meanwhile holds the writer back (case 49).
func TestTCPSlowDestination(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		size := 4<<20 + amount(160<<20)
		sum := make(chan [32]byte, 1)
		w.destinations(func(conn *simnet.Conn) {
			time.Sleep(5 * time.Second)
			got, _ := sumOf(conn)
			sum <- got
		})
		c := w.dial("laptop", client.Options{})
		conn := w.tunnel(c, client.TCPOptions{})
		written := make(chan error, 1)
		go func() {
			_, err := conn.ReadFrom(noise(1, size))
			written <- errors.Join(err, conn.Close())
		}()
		time.Sleep(4 * time.Second)
		if sent, _ := conn.Transferred(); sent > 3<<20 {
			t.Errorf("%d bytes were taken although nobody reads", sent)
		}
		if got := <-sum; got != noiseSum(1, size) {
			t.Error("other bytes were received")
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

// A reader that is slow keeps the host from reading on; memory stays within the
// window.
func TestTCPSlowReader(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ends := w.accepted()
		c := w.dial("laptop", client.Options{})
		conn := w.tunnel(c, client.TCPOptions{Window: client.Window{Bytes: 100_000, MaxFrameBytes: 10_000}})
		end := <-ends
		go func() { _, _ = io.Copy(end, noise(1, 10<<20)); _ = end.CloseWrite() }()
		time.Sleep(time.Minute)
		if sent := w.net.Link("host", destination).Stats().Down.Sent; sent > 4<<20 {
			t.Errorf("the destination sent %d bytes", sent)
		}
		if got, err := sumOf(conn); err != nil || got != noiseSum(1, 10<<20) {
			t.Errorf("client: %v", err)
		}
	})
}

// A reset reaches the other side from either one, also when the window is full and
// nobody reads (cases 40, 43).
func TestTCPResetPassesAFullWindow(t *testing.T) {
	t.Run("of the destination", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			ends := w.accepted()
			c := w.dial("laptop", client.Options{})
			conn := w.tunnel(c, client.TCPOptions{})
			end := <-ends
			failed := make(chan error, 1)
			go func() { _, err := conn.ReadFrom(noise(1, 1<<40)); failed <- err }()
			time.Sleep(time.Second) // the window is full
			_ = end.SetLinger(0)
			_ = end.Close()
			wantErr(t, "write", <-failed, client.ErrReset)
			_, err := conn.Read(make([]byte, 1))
			wantErr(t, "read", err, client.ErrReset)
		})
	})
	t.Run("of the client", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			ends := w.accepted()
			c := w.dial("laptop", client.Options{})
			conn := w.tunnel(c, client.TCPOptions{})
			end := <-ends
			go func() { _, _ = conn.ReadFrom(noise(1, 1<<40)) }()
			failed := make(chan error, 1)
			go func() { _, err := io.Copy(end, noise(1, 1<<40)); failed <- err }()
			time.Sleep(time.Second)
			conn.Abort()
			wantErr(t, "the destination's write", <-failed, syscall.ECONNRESET)
			time.Sleep(time.Second)
			if n := w.tcp.Len(); n != 0 {
				t.Errorf("the host still has %d connections", n)
			}
		})
	})
}

// Case 52: a destination that closes with unread data has reset; that is never a
// clean end after a short body.
func TestTCPDestinationClosesWithUnreadData(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.destinations(func(conn *simnet.Conn) {
			_, _ = io.ReadFull(conn, make([]byte, 10))
			_, _ = io.Copy(conn, noise(1, 300_000))
		})
		c := w.dial("laptop", client.Options{})
		conn := w.tunnel(c, client.TCPOptions{})
		if _, err := io.WriteString(conn, "0123456789 and what is not read"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		_, err := sumOf(conn)
		wantErr(t, "read", err, client.ErrReset)
	})
}

// One download that is broken off costs the others nothing, wherever it is (case
// 40), and every way to end leaves nothing behind (case 56).
func TestTCPAbortedDownloadsLeaveTheOthersAlone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const size = 2 << 20
		w.destinations(func(conn *simnet.Conn) { _, _ = io.Copy(conn, noise(1, size)) })
		c := w.dial("laptop", client.Options{})
		for n := range amount(100) {
			var downloads sync.WaitGroup
			for range 2 {
				downloads.Go(func() {
					conn := w.tunnel(c, client.TCPOptions{})
					if got, err := sumOf(conn); err != nil || got != noiseSum(1, size) {
						t.Errorf("download: %v", err)
					}
					_ = conn.Close()
				})
			}
			conn := w.tunnel(c, client.TCPOptions{})
			_, _ = io.CopyN(io.Discard, struct{ io.Reader }{conn}, []int64{64 << 10, 1 << 20, size - 1}[n%3])
			if n%2 == 0 {
				conn.Abort()
			} else {
				_ = conn.Close()
			}
			downloads.Wait()
		}
		time.Sleep(time.Minute)
		if n := w.tcp.Len(); n != 0 {
			t.Errorf("the host still has %d connections", n)
		}
	})
}

func TestTCPLimitOfConnections(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.tcpLimits.PerClient = 3
		w.stop()
		w.start()
		w.accepted()
		c := w.dial("laptop", client.Options{})
		var conns []*client.TCPConn
		for range 3 {
			conns = append(conns, w.tunnel(c, client.TCPOptions{}))
		}
		_, err := c.DialTCP(t.Context(), "127.0.0.1", 9000, client.TCPOptions{})
		wantErr(t, "dial", err, ahp.ErrPermissionDenied)
		conns[0].Abort()
		time.Sleep(time.Second)
		w.tunnel(c, client.TCPOptions{})
		_, err = c.DialTCP(t.Context(), "10.0.0.1", 9000, client.TCPOptions{})
		wantErr(t, "dial", err, ahp.ErrPermissionDenied)
	})
}

// A bulk transfer, an action and a ping share a connection: the small ones wait
// for a frame or two, not for the transfer (case 59).
func TestTCPLeavesRoomForOthers(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.destinations(func(conn *simnet.Conn) {
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			_, _ = io.Copy(conn, noise(1, 1<<40))
		})
		c := w.dial("laptop", client.Options{})
		_, chat := w.newSession(c)
		const speed = 2_500_000 // 20 Mbit/s
		w.link("laptop").Set(simnet.Profile{BytesPerSecond: speed, BufferBytes: 64 << 10})
		for range 2 {
			conn := w.tunnel(c, client.TCPOptions{})
			go func() { _, _ = io.Copy(io.Discard, struct{ io.Reader }{conn}) }()
			go func() { _, _ = conn.ReadFrom(noise(1, 1<<40)) }()
		}
		time.Sleep(5 * time.Second)
		// A batch of 256 KiB and a frame of 128 KiB may stand before a message,
		// and the buffer of the link, in each direction.
		const bound = 2 * (256 + 128 + 128 + 64) << 10 * time.Second / speed
		for range amount(200) {
			start := time.Now()
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > bound {
				t.Errorf("a ping took %v, bound %v", took, bound)
			}
			start = time.Now()
			if err := chat.Dispatch(&ahp.ChatDraftChanged{Draft: ahp.UserMessage("x")}).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > bound {
				t.Errorf("an echo took %v, bound %v", took, bound)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// Case 46: two ends that push in both directions through a small pipe never stand
// still.
func TestTCPBothDirectionsNeverStandStill(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.destinations(func(conn *simnet.Conn) {
			go func() { _, _ = io.Copy(conn, noise(1, 1<<40)) }()
			_, _ = io.Copy(io.Discard, conn)
		})
		c := w.dial("laptop", client.Options{})
		w.link("laptop").Set(simnet.Profile{BytesPerSecond: 1_000_000, BufferBytes: 64 << 10})
		var conns []*client.TCPConn
		for range 16 {
			conn := w.tunnel(c, client.TCPOptions{Window: client.Window{Bytes: 64 << 10, MaxFrameBytes: 16 << 10}})
			go func() { _, _ = conn.ReadFrom(noise(1, 1<<40)) }()
			go func() { _, _ = io.Copy(io.Discard, struct{ io.Reader }{conn}) }()
			conns = append(conns, conn)
		}
		before := make([][2]int64, len(conns))
		for round := range amount(40) {
			time.Sleep(5 * time.Second)
			for n, conn := range conns {
				sent, received := conn.Transferred()
				if sent == before[n][0] || received == before[n][1] {
					t.Errorf("round %d: connection %d stands still at %d, %d", round, n, sent, received)
				}
				before[n] = [2]int64{sent, received}
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The network stops for longer than anybody waits for a write, and goes on: every
// stream delivers everything or ends visibly at both ends (case 47).
func TestTCPLongStall(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const size = 4 << 20
		results := make(chan error, 4)
		w.destinations(func(conn *simnet.Conn) {
			got, err := sumOf(conn)
			if err == nil && got != noiseSum(1, size) {
				err = errShort
			}
			results <- err
		})
		c := w.dial("laptop", client.Options{})
		for range 4 {
			conn := w.tunnel(c, client.TCPOptions{})
			go func() {
				_, _ = conn.ReadFrom(noise(1, size))
				_ = conn.Close()
			}()
		}
		w.link("laptop").Set(simnet.Profile{BytesPerSecond: 1 << 20})
		time.Sleep(2 * time.Second)
		w.link("laptop").Stall()
		time.Sleep(12 * time.Second)
		w.link("laptop").Resume()
		for range 4 {
			if err := <-results; errors.Is(err, errShort) {
				t.Error(err)
			}
		}
	})
}

var errShort = errors.New("a clean end after other bytes")

// A client that closes takes its connections with it.
func TestTCPEndsWithTheClient(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ends := w.accepted()
		c := w.dial("laptop", client.Options{})
		conn := w.tunnel(c, client.TCPOptions{})
		end := <-ends
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := conn.Read(make([]byte, 1))
		wantErr(t, "read", err, client.ErrClosed)
		synctest.Wait()
		_, err = end.Read(make([]byte, 1))
		wantErr(t, "destination", err, syscall.ECONNRESET)
	})
}
