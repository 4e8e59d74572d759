package websocket

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/coder/websocket"
	"github.com/gobwas/ws"
	gorilla "github.com/gorilla/websocket"
)

const (
	benchBatch = 100
	benchBytes = 200
)

// contender is the host side of a connection under measurement.
type contender struct {
	name   string
	accept func(w http.ResponseWriter, r *http.Request) benchEnd
}

type benchEnd struct {
	write func(batch [][]byte) error // one batch
	read  func() error               // one message
	close func()
}

func contenders(b *testing.B) []contender {
	fail := func(err error) {
		if err != nil {
			b.Errorf("accept: %v", err)
		}
	}
	return []contender{
		{"ours", func(w http.ResponseWriter, r *http.Request) benchEnd {
			c, err := Upgrade(w, r, Options{})
			fail(err)
			return benchEnd{
				write: c.Write,
				read:  func() error { _, err := c.Read(); return err },
				close: func() { _ = c.Close(transport.CodeNormal, "") },
			}
		}},
		{"coder", func(w http.ResponseWriter, r *http.Request) benchEnd {
			c, err := websocket.Accept(w, r, nil)
			fail(err)
			ctx := context.Background()
			return benchEnd{
				write: eachMessage(func(m []byte) error { return c.Write(ctx, websocket.MessageText, m) }),
				read:  func() error { _, _, err := c.Read(ctx); return err },
				close: func() { _ = c.CloseNow() },
			}
		}},
		{"gorilla", func(w http.ResponseWriter, r *http.Request) benchEnd {
			c, err := new(gorilla.Upgrader).Upgrade(w, r, nil)
			fail(err)
			return benchEnd{
				write: eachMessage(func(m []byte) error { return c.WriteMessage(gorilla.TextMessage, m) }),
				read:  func() error { _, _, err := c.ReadMessage(); return err },
				close: func() { _ = c.Close() },
			}
		}},
	}
}

func eachMessage(write func(m []byte) error) func(batch [][]byte) error {
	return func(batch [][]byte) error {
		for _, m := range batch {
			if err := write(m); err != nil {
				return err
			}
		}
		return nil
	}
}

// connectBench returns the contender's end, and the raw socket of its client
// after the upgrade.
func connectBench(b *testing.B, c contender) (benchEnd, net.Conn) {
	b.Helper()
	ends := make(chan benchEnd, 1)
	ln, _ := listen(b, "tcp")
	serve(b, ln, func(w http.ResponseWriter, r *http.Request) { ends <- c.accept(w, r) })
	nc, br, _, err := ws.Dial(b.Context(), "ws://"+ln.Addr().String())
	if err != nil || br != nil {
		b.Fatalf("dial: %v", err)
	}
	end := <-ends
	b.Cleanup(func() {
		_ = nc.Close()
		end.close()
	})
	return end, nc
}

// BenchmarkWrite writes batches of 100 messages of 200 bytes to a client that
// throws them away. An operation is a message.
func BenchmarkWrite(b *testing.B) {
	compare(b, func(b *testing.B, end benchEnd, nc net.Conn) {
		go func() { _, _ = io.Copy(io.Discard, nc) }()
		batch := batchOf(benchBatch, benchBytes)
		for i := 0; i < b.N; i += benchBatch {
			if err := end.write(batch); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRead reads messages of 200 bytes from a client that sends them as
// fast as the socket takes them. An operation is a message.
func BenchmarkRead(b *testing.B) {
	wire := bytes.Repeat(frame(true, ws.OpText, strings.Repeat("x", benchBytes)), benchBatch)
	compare(b, func(b *testing.B, end benchEnd, nc net.Conn) {
		go func() {
			for {
				if _, err := nc.Write(wire); err != nil {
					return
				}
			}
		}()
		for range b.N {
			if err := end.read(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// compare runs the same for each contender and prints how many times faster
// ours is.
func compare(b *testing.B, run func(b *testing.B, end benchEnd, nc net.Conn)) {
	took := map[string]float64{}
	for _, c := range contenders(b) {
		b.Run(c.name, func(b *testing.B) {
			end, nc := connectBench(b, c)
			b.SetBytes(benchBytes)
			b.ReportAllocs()
			b.ResetTimer()
			run(b, end, nc)
			b.StopTimer()
			took[c.name] = float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			if ours := took["ours"]; c.name != "ours" && ours > 0 {
				b.ReportMetric(took[c.name]/ours, "x-ours")
			}
		})
	}
}

// BenchmarkIdle measures what a connection costs that does nothing but wait in
// Read: heap and stack of the host side, socket objects included.
func BenchmarkIdle(b *testing.B) {
	for _, c := range contenders(b) {
		b.Run(c.name, func(b *testing.B) {
			const conns = 500
			b.ReportMetric(idleBytes(b, c, conns)/conns, "B/conn")
			b.ReportMetric(0, "ns/op") // not a measure of time
		})
	}
}

func idleBytes(b *testing.B, c contender, conns int) float64 {
	ends := make(chan benchEnd)
	ln, _ := listen(b, "tcp")
	serve(b, ln, func(w http.ResponseWriter, r *http.Request) {
		end := c.accept(w, r)
		go func() { ends <- end }() // the handler returns and leaves its buffers
	})
	clients := make([]io.Closer, conns)
	hosts := make([]benchEnd, conns)
	done := make(chan error, conns)
	b.Cleanup(func() {
		for i := range clients {
			_ = clients[i].Close()
			hosts[i].close()
			<-done
		}
	})
	before := inUse()
	for i := range conns {
		clients[i] = rawDial(b, ln.Addr().String())
		hosts[i] = <-ends
		go func(h benchEnd) { done <- h.read() }(hosts[i])
	}
	return inUse() - before - float64(conns)*rawBytes(b, conns)
}

// rawDial upgrades a bare socket.
func rawDial(b *testing.B, addr string) net.Conn {
	nc, br, _, err := ws.Dial(b.Context(), "ws://"+addr)
	if err != nil || br != nil {
		b.Fatalf("dial: %v", err)
	}
	return nc
}

// rawBytes is what the client's bare socket costs in the same process.
func rawBytes(b *testing.B, n int) float64 {
	ln, _ := listen(b, "tcp")
	defer ln.Close()
	socks := make([]net.Conn, 0, 2*n)
	before := inUse()
	for range n {
		near, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		far, err := ln.Accept()
		if err != nil {
			b.Fatal(err)
		}
		socks = append(socks, near, far)
	}
	per := (inUse() - before) / float64(2*n)
	for _, s := range socks {
		_ = s.Close()
	}
	return per
}

func inUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse + m.StackInuse)
}
