package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"pgregory.net/rapid"
)

// plan is what one end of a stream does: how much it sends, in which pieces and with
// which pauses, how it reads, and how it ends.
type plan struct {
	Send, Piece int
	Pause       time.Duration // between pieces
	Read        int           // at most so much at a time
	Rest        time.Duration // between reads
	Break       time.Duration // it breaks the stream off then; 0: never
}

func drawPlan(t *rapid.T, name string) plan {
	size := rapid.OneOf(rapid.IntRange(0, 3000), rapid.IntRange(0, 400_000))
	pause := rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, time.Second})
	p := plan{
		Send: size.Draw(t, name+" sends"), Piece: rapid.IntRange(1, 100_000).Draw(t, name+" piece"), Pause: pause.Draw(t, name+" pause"),
		Read: rapid.IntRange(1, 100_000).Draw(t, name+" reads"), Rest: pause.Draw(t, name+" rest"),
		Break: rapid.SampledFrom([]time.Duration{0, 0, 0, time.Millisecond, 50 * time.Millisecond, time.Second}).Draw(t, name+" breaks"),
	}
	p.Piece, p.Read = max(p.Piece, p.Send/50), max(p.Read, 8192) // an end to every run
	return p
}

// rests is the longest that an end may rest by its plan, when it gets so many bytes.
func (p plan) rests(got int) time.Duration {
	return time.Duration(got)*p.Rest + time.Duration(p.Send/p.Piece+1)*p.Pause
}

// stream is one end: a simulated socket or a client.TCPConn.
type stream interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// outcome is what an end has seen.
type outcome struct {
	sent     int  // bytes that Write took
	ended    bool // its own end was passed on in order
	got      []byte
	clean    bool  // the other end's end came in order
	sendErr  error // why it could not send all
	receives error
}

// act follows a plan and returns when both directions are over.
func act(s stream, p plan, seed uint64, breakOff func()) (o outcome) {
	if p.Break > 0 {
		timer := time.AfterFunc(p.Break, breakOff)
		defer timer.Stop()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.sent, o.sendErr = send(s, p, seed)
		o.ended = o.sendErr == nil
	}()
	buf := make([]byte, p.Read)
	for {
		n, err := s.Read(buf)
		o.got = append(o.got, buf[:n]...)
		if err != nil {
			o.clean, o.receives = errors.Is(err, io.EOF), err
			break
		}
		time.Sleep(p.Rest)
	}
	<-done
	return o
}

func send(s stream, p plan, seed uint64) (sent int, err error) {
	text, _ := io.ReadAll(noise(seed, int64(p.Send)))
	for len(text) > 0 {
		n, err := s.Write(text[:min(p.Piece, len(text))])
		sent += n
		if err != nil {
			return sent, err
		}
		text = text[n:]
		time.Sleep(p.Pause)
	}
	return sent, s.CloseWrite()
}

// TestTCPModel lets both ends of a stream do what they like, through a real host, over
// networks that cut writes in pieces, for every window and frame. What arrives is what
// was sent, up to where it ends. The end comes in order only behind all of it, and only
// if the other end said so; whoever breaks off, or is cut off, is seen to have broken
// off. Nothing stands still, and nothing is left.
func TestTCPModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		window := client.Window{
			Bytes:         rapid.OneOf(rapid.Int64Range(1, 5000), rapid.Just(int64(1<<20))).Draw(rt, "window"),
			MaxFrameBytes: rapid.SampledFrom([]int64{1024, 1025, 4096, 64 << 10}).Draw(rt, "frame"),
		}
		profile := simnet.Profile{
			Latency:       rapid.SampledFrom([]time.Duration{0, time.Millisecond}).Draw(rt, "latency"),
			MaxPieceBytes: rapid.SampledFrom([]int{1, 700, 100_000}).Draw(rt, "pieces"),
			BufferBytes:   rapid.SampledFrom([]int{1000, 64 << 10}).Draw(rt, "buffer"),
		}
		near, far := drawPlan(rt, "client"), drawPlan(rt, "destination")
		if window.Bytes < 5000 || profile.MaxPieceBytes == 1 { // many messages, or many pieces
			near.Send, far.Send = near.Send%5000, far.Send%5000
		}
		cut := rapid.SampledFrom([]int64{0, 0, 0, 1, 2000, 30_000}).Draw(rt, "cut")
		early := rapid.Bool().Draw(rt, "client closes early") // what it has sent may be on its way still
		synctest.Test(t, func(t *testing.T) { tcpRun(t, rt, window, profile, near, far, cut, early) })
	})
}

func tcpRun(t *testing.T, rt *rapid.T, window client.Window, profile simnet.Profile, near, far plan, cut int64, early bool) {
	w := &world{t: t, net: simnet.New(1), agent: newPuppet()}
	w.opts.Limits.WindowBytes, w.opts.Limits.WindowFrameBytes = window.Bytes, window.MaxFrameBytes
	w.start()
	defer w.stop()
	fars := make(chan outcome, 1)
	ends := w.accepted()
	c := w.dial("laptop", client.Options{})
	defer c.Close()
	conn := w.tunnel(c, client.TCPOptions{Window: window})
	end := <-ends
	w.link("laptop").Set(profile)
	w.net.Link("host", destination).Set(profile)
	if cut > 0 {
		w.link("laptop").CutAfter(simnet.Up, cut)
	}
	began := time.Now()
	go func() {
		o := act(end, far, 2, func() { _ = end.SetLinger(0); _ = end.Close() })
		_ = end.Close()
		fars <- o
	}()
	nearly := act(conn, near, 1, conn.Abort)
	if early {
		_ = conn.Close()
	}
	farther := <-fars
	_ = conn.Close()
	took := time.Since(began)

	say := func(format string, args ...any) {
		rt.Errorf("%s\nclient: %s\ndestination: %s", fmt.Sprintf(format, args...), nearly, farther)
	}
	nearly.check(say, "client", farther, far, 2)
	farther.check(say, "destination", nearly, near, 1)
	slow := far.rests(near.Send) > 9*time.Second // behind both ends the host waits so long for it to read on
	broken := near.Break > 0 || far.Break > 0 || cut > 0 || slow
	if !broken && (!nearly.clean || !farther.clean) {
		say("nobody broke it off, and it did not end in order")
	}
	if took > time.Minute+near.rests(len(nearly.got))+far.rests(len(farther.got)) {
		say("it took %v", took)
	}
	time.Sleep(time.Minute)
	if n := w.tcp.Len(); n != 0 {
		say("the host still has %d connections", n)
	}
}

// check holds what an end has seen against what the other one did.
func (o outcome) check(say func(string, ...any), who string, other outcome, p plan, seed uint64) {
	want, _ := io.ReadAll(noise(seed, int64(p.Send)))
	switch {
	case !bytes.HasPrefix(want, o.got):
		say("the %s got other bytes", who)
	case o.clean && len(o.got) != len(want):
		say("the %s got a clean end after %d of %d bytes", who, len(o.got), len(want))
	case o.clean && !other.ended:
		say("the %s got a clean end that nobody made", who)
	}
}

// String leaves out the bytes.
func (o outcome) String() string {
	return fmt.Sprintf("sent %d, ended %v (%v), got %d, clean %v (%v)", o.sent, o.ended, o.sendErr, len(o.got), o.clean, o.receives)
}
