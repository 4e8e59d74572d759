package tcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/go-json-experiment/json/jsontext"
)

// probe is a carrier that costs next to nothing: what the host writes is counted
// and credited, what it reads comes from a channel.
type probe struct {
	in     chan []byte
	done   chan struct{}
	once   sync.Once
	wrote  func(msg []byte)
	answer chan struct{} // told of each response
}

func (p *probe) Read() ([]byte, error) {
	select {
	case m := <-p.in:
		return m, nil
	case <-p.done:
		return nil, errors.New("closed")
	}
}

func (p *probe) Write(batch [][]byte) error {
	for _, msg := range batch {
		p.wrote(msg)
	}
	return nil
}

func (p *probe) Close(transport.Code, string) error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *probe) RemoteAddr() string   { return "probe" }
func (p *probe) Kind() transport.Kind { return transport.KindMemory }

// rig is a host with one TCP channel from a real loopback socket to a probe.
type rig struct {
	tb      testing.TB
	h       *host.Host
	p       *probe
	dest    net.Conn // the destination's end
	serving sync.WaitGroup

	frames   atomic.Int64
	bytes    atomic.Int64  // of frames, as sent
	credited atomic.Int64  // the host's credit for us
	credit   chan struct{} // it moved
	moved    chan struct{} // a frame was sent
	mute     atomic.Bool   // frames are not credited
	held     int64         // frames that are not credited yet; the writer's
	total    int64
}

const rigURI = "ahp-tcp:/bench"

func newRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{tb: tb, credit: make(chan struct{}, 1), moved: make(chan struct{}, 1)}
	r.p = &probe{in: make(chan []byte, 64), done: make(chan struct{}), answer: make(chan struct{}, 16)}
	r.p.wrote = r.wrote
	var err error
	if r.h, err = host.New(context.Background(), host.Options{Features: []host.Feature{New(Options{})}}); err != nil {
		tb.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	r.serving.Go(func() { _ = r.h.Serve(context.Background(), r.p, host.Local) })
	r.request(ahp.MethodInitialize, `{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":"bench"}`)
	r.request(ahp.MethodCreateTCPConnection, fmt.Sprintf(`{"channel":%q,"host":"127.0.0.1","port":%d}`, rigURI, ln.Addr().(*net.TCPAddr).Port))
	if r.dest, err = ln.Accept(); err != nil {
		tb.Fatal(err)
	}
	r.request(ahp.MethodSubscribe, fmt.Sprintf(`{"channel":%q,"flowControl":{"receive":{"windowBytes":%d,"maximumFrameBytes":%d}}}`, rigURI, ours.WindowBytes, ours.MaxFrameBytes))
	tb.Cleanup(func() {
		_ = r.dest.Close()
		_ = r.p.Close(transport.CodeNormal, "")
		r.serving.Wait()
		if err := r.h.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return r
}

func (r *rig) request(method, params string) {
	r.p.in <- jsonrpc.AppendRequest(nil, jsonrpc.NumberID(1), method, jsontext.Value(params))
	<-r.p.answer
}

// wrote takes what the host sent.
func (r *rig) wrote(msg []byte) {
	switch text := msg[len(`{"jsonrpc":"2.0",`):]; {
	case bytes.HasPrefix(text, []byte(`"id"`)):
		r.p.answer <- struct{}{}
	case bytes.HasPrefix(text, []byte(`"method":"channel/credit"`)):
		digits := bytes.TrimRight(msg[bytes.LastIndexByte(msg, ':')+1:], "}")
		consumed, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			r.tb.Error(err)
		}
		r.credited.Store(consumed)
		select {
		case r.credit <- struct{}{}:
		default:
		}
	default:
		r.frame(2 * int64(len(msg)))
	}
}

// frame credits frames by the quarter of a window.
func (r *rig) frame(size int64) {
	r.frames.Add(1)
	r.bytes.Add(size)
	select {
	case r.moved <- struct{}{}:
	default:
	}
	r.held += size
	r.total += size
	if r.held >= ours.WindowBytes/4 && !r.mute.Load() {
		r.held = 0
		r.p.in <- fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"channel/credit","params":{"channel":%q,"consumedBytes":%d}}`, rigURI, r.total)
	}
}

// pour writes n bytes into the destination's end and waits until their frames were
// sent.
func (r *rig) pour(n int64) {
	buf := make([]byte, 256<<10)
	want := r.bytes.Load() + n/3*8 // less than the envelopes add
	for left := n; left > 0; {
		k, err := r.dest.Write(buf[:min(left, int64(len(buf)))])
		if err != nil {
			r.tb.Fatal(err)
		}
		left -= int64(k)
	}
	for r.bytes.Load() < want {
		<-r.moved
	}
}

// BenchmarkToClient is the host's cost of a MiB from a destination: read, encoded
// and framed.
func BenchmarkToClient(b *testing.B) {
	r := newRig(b)
	r.pour(8 << 20)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	frames := r.frames.Load()
	n := 0
	for b.Loop() {
		r.pour(1 << 20)
		n++
	}
	b.ReportMetric(float64(r.frames.Load()-frames)/float64(n), "frames/op")
}

// BenchmarkToDestination is the host's cost of a MiB from the client: scanned,
// decoded and written. Each message is copied, as a carrier would allocate it.
func BenchmarkToDestination(b *testing.B) {
	r := newRig(b)
	text := newDataText(rigURI)
	msg, size := text.appendData(nil, make([]byte, text.room(ours.MaxFrameBytes)))
	r.serving.Go(func() { _, _ = io.Copy(io.Discard, r.dest) })
	var sent int64
	b.SetBytes(int64(text.payload))
	b.ReportAllocs()
	for b.Loop() {
		for sent-r.credited.Load() >= ours.WindowBytes {
			<-r.credit
		}
		r.p.in <- append(make([]byte, 0, len(msg)), msg...)
		sent += size
	}
}

// TestNoAllocationPerFrame: in steady state a frame to the client costs no memory
// but what the test itself takes for credits.
func TestNoAllocationPerFrame(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget at random")
	}
	r := newRig(t)
	r.pour(8 << 20)
	var before, after runtime.MemStats
	frames := r.frames.Load()
	runtime.ReadMemStats(&before)
	r.pour(64 << 20)
	runtime.ReadMemStats(&after)
	frames = r.frames.Load() - frames
	each, bytes := float64(after.Mallocs-before.Mallocs)/float64(frames), float64(after.TotalAlloc-before.TotalAlloc)/float64(frames)
	t.Logf("%d frames, %.2f allocations and %.0f bytes each", frames, each, bytes)
	// A credit for each eight frames is made by the test. The pools may lose
	// something to a collection of garbage; a frame has 128 KiB.
	if each > 2 || bytes > 4<<10 {
		t.Errorf("a frame costs %.2f allocations of %.0f bytes", each, bytes)
	}
}

// TestIdleCost: an idle connection holds no more than 16 KiB on the host, also
// after it has carried something.
func TestIdleCost(t *testing.T) {
	const n = 200
	p := &probe{in: make(chan []byte, 64), done: make(chan struct{}), answer: make(chan struct{}, 16)}
	r := &rig{tb: t, p: p, credit: make(chan struct{}, 1), moved: make(chan struct{}, 1)}
	p.wrote = r.wrote
	h, err := host.New(t.Context(), host.Options{Features: []host.Feature{New(Options{Limits: Limits{PerClient: n}})}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var serving sync.WaitGroup
	serving.Go(func() { _ = h.Serve(context.Background(), p, host.Local) })
	r.request(ahp.MethodInitialize, `{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":"bench"}`)
	idle := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // pools give up what they hold in two
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := idle()
	for i := range n {
		uri := fmt.Sprintf("ahp-tcp:/t%d", i)
		r.request(ahp.MethodCreateTCPConnection, fmt.Sprintf(`{"channel":%q,"host":"127.0.0.1","port":%d}`, uri, ln.Addr().(*net.TCPAddr).Port))
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		r.request(ahp.MethodSubscribe, fmt.Sprintf(`{"channel":%q,"flowControl":{"receive":{"windowBytes":%d,"maximumFrameBytes":%d}}}`, uri, ours.WindowBytes, ours.MaxFrameBytes))
		frames := r.frames.Load()
		if _, err := conn.Write(make([]byte, 300_000)); err != nil {
			t.Fatal(err)
		}
		for r.frames.Load() < frames+3 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	each := int64(idle()-before) / n
	t.Logf("%d bytes for an idle connection, the test's own end included", each)
	if each > 16<<10 {
		t.Errorf("an idle connection holds %d bytes", each)
	}
	_ = p.Close(transport.CodeNormal, "")
	serving.Wait()
	if err := h.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
