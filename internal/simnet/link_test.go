package simnet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/internal/simnet"
)

// TestBandwidth checks that a link carries its rate and no more, evenly.
func TestBandwidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{BytesPerSecond: 1000, Latency: time.Second})
		start := time.Now()
		mustWrite(t, p.near, strings.Repeat("x", 2000))
		wantRead(t, p.far, strings.Repeat("x", 500))
		if got := time.Since(start); got != 1500*time.Millisecond {
			t.Errorf("first quarter took %v, want 1.5s", got)
		}
		wantRead(t, p.far, strings.Repeat("x", 1500))
		if got := time.Since(start); got != 3*time.Second {
			t.Errorf("all took %v, want 3s", got)
		}
	})
}

// TestBandwidthIsShared checks that two connections of a link halve its rate.
func TestBandwidthIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(1)
		ln, err := network.Listen("host:1")
		if err != nil {
			t.Fatal(err)
		}
		network.Link("a", "host:1").Set(simnet.Profile{BytesPerSecond: 1000})
		start := time.Now()
		for range 2 {
			near, err := network.Dial(t.Context(), "a", "host:1")
			if err != nil {
				t.Fatal(err)
			}
			mustWrite(t, near, strings.Repeat("x", 1000))
		}
		for range 2 {
			far, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			wantRead(t, far, strings.Repeat("x", 1000))
		}
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("took %v, want 2s", got)
		}
	})
}

// TestFullBuffer checks that a writer waits for the reader, is released by
// exactly the room the reader makes, and by a larger buffer.
func TestFullBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{BufferBytes: 10})
		wrote := make(chan int, 1)
		go func() {
			n, _ := p.near.Write(make([]byte, 30))
			wrote <- n
		}()
		sent := func() int64 { synctest.Wait(); return p.link.Stats().Up.Sent }
		if got := sent(); got != 10 {
			t.Errorf("sent %d bytes into a buffer of 10", got)
		}
		wantRead(t, p.far, "\x00\x00\x00")
		if got := sent(); got != 13 {
			t.Errorf("sent %d bytes after 3 were read, want 13", got)
		}
		p.link.Set(simnet.Profile{BufferBytes: 12}, simnet.Up)
		if got := sent(); got != 15 {
			t.Errorf("sent %d bytes with 2 bytes more buffer, want 15", got)
		}
		p.link.Set(simnet.Profile{}, simnet.Up)
		if n := <-wrote; n != 30 {
			t.Errorf("Write = %d, want 30", n)
		}
		if p.link.Stats().Up.FullBuffer == 0 {
			t.Error("waiting for room was not counted")
		}
	})
}

// TestJitterKeepsOrder sends numbered bytes over a link that shakes.
func TestJitterKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{Latency: time.Millisecond, Jitter: time.Second, MaxPieceBytes: 3})
		var want bytes.Buffer
		for i := range 200 {
			fmt.Fprintf(&want, "%d ", i)
			fmt.Fprintf(p.near, "%d ", i)
			time.Sleep(time.Millisecond)
		}
		p.near.Close()
		if got, err := io.ReadAll(p.far); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("read %q, %v", got, err)
		}
	})
}

// TestPieces checks that split writes are neither joined nor of one size.
func TestPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{MaxPieceBytes: 7})
		mustWrite(t, p.near, strings.Repeat("x", 1000))
		p.near.Close()
		sizes := readSizes(t, p.far)
		seen := make(map[int]bool)
		for _, n := range sizes {
			seen[n] = true
		}
		for n := 1; n <= 7; n++ {
			if !seen[n] {
				t.Errorf("no piece of %d bytes in %v", n, sizes)
			}
		}
		if len(seen) != 7 {
			t.Errorf("sizes %v, want 1 to 7 only", seen)
		}
	})
}

// readSizes reads to the end and returns what each Read gave.
func readSizes(t testing.TB, c *simnet.Conn) (sizes []int) {
	t.Helper()
	b := make([]byte, 4096)
	for {
		n, err := c.Read(b)
		if errors.Is(err, io.EOF) {
			return sizes
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, n)
	}
}

// TestSeed checks that runs with one seed are equal and seeds differ.
func TestSeed(t *testing.T) {
	history := func(seed uint64) (h string) {
		synctest.Test(t, func(t *testing.T) {
			p := connectOn(t, simnet.New(seed), simnet.Profile{Jitter: time.Second, MaxPieceBytes: 9})
			mustWrite(t, p.near, strings.Repeat("x", 500))
			p.near.Close()
			start := time.Now()
			b := make([]byte, 100)
			for n, err := 0, error(nil); err == nil; n, err = p.far.Read(b) {
				h += fmt.Sprint(n, "@", time.Since(start), " ")
			}
		})
		return h
	}
	if a, b := history(7), history(7); a != b {
		t.Errorf("one seed, two histories:\n%s\n%s", a, b)
	}
	if a, b := history(7), history(8); a == b {
		t.Errorf("two seeds, one history: %s", a)
	}
}

// TestCutAfter tears at every byte of a message, in both directions, with and
// without latency and splitting.
func TestCutAfter(t *testing.T) {
	const message = "a whole message"
	profiles := map[string]simnet.Profile{
		"instant": {},
		"far":     {Latency: hop},
		"split":   {Latency: hop, Jitter: hop, MaxPieceBytes: 4},
		"narrow":  {BytesPerSecond: 100, BufferBytes: 5},
	}
	for name, profile := range profiles {
		for _, d := range []simnet.Direction{simnet.Up, simnet.Down} {
			t.Run(name+"/"+d.String(), func(t *testing.T) {
				for n := 1; n <= len(message); n++ {
					synctest.Test(t, func(t *testing.T) { tear(t, connect(t, profile), d, message, n) })
				}
			})
		}
	}
}

func tear(t *testing.T, p pair, d simnet.Direction, message string, n int) {
	writer, reader := p.near, p.far
	if d == simnet.Down {
		writer, reader = p.far, p.near
	}
	p.link.CutAfter(d, int64(n))
	done := make(chan error)
	go func() {
		_, err := io.WriteString(writer, message)
		_, again := writer.Read(make([]byte, 1))
		done <- errors.Join(err, again)
	}()
	got, err := io.ReadAll(reader)
	if string(got) != message[:n] || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("cut after %d: read %q, %v", n, got, err)
	}
	if err := <-done; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("cut after %d: writer got %v", n, err)
	}
}

// TestCutAfterNothing checks that zero bytes means now.
func TestCutAfterNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{})
		p.link.CutAfter(simnet.Up, 0)
		wantReadError(t, p.far, syscall.ECONNRESET)
		if got := p.link.Stats().Cut; got != 1 {
			t.Errorf("cut = %d connections, want 1", got)
		}
	})
}

// TestStall checks the black hole in one direction: the end of the stream is
// swallowed like its bytes, the other direction lives, writers fill the buffer.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{Latency: hop, BufferBytes: 8})
		mustWrite(t, p.near, "seen")
		time.Sleep(hop)
		p.link.Stall(simnet.Up)
		mustWrite(t, p.near, "hole")
		p.near.SetWriteDeadline(time.Now().Add(time.Minute))
		wantWriteError(t, p.near, os.ErrDeadlineExceeded)
		p.near.CloseWrite()

		wantRead(t, p.far, "seen") // had arrived
		mustWrite(t, p.far, "other")
		wantRead(t, p.near, "other")
		p.far.SetReadDeadline(time.Now().Add(time.Hour))
		wantReadError(t, p.far, os.ErrDeadlineExceeded)

		p.far.SetReadDeadline(time.Time{})
		p.link.Resume()
		wantRead(t, p.far, "hole")
		wantReadError(t, p.far, io.EOF)
	})
}

// TestCutWhileStalled checks that a cut is noticed although nothing arrives.
func TestCutWhileStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{Latency: hop})
		p.link.Stall()
		mustWrite(t, p.near, "lost")
		p.link.Cut()
		p.link.Resume()
		wantReadError(t, p.far, syscall.ECONNRESET)
		if up := p.link.Stats().Up; up.Lost != 4 || up.InFlight != 0 {
			t.Errorf("up = %+v, want 4 lost and none in flight", up)
		}
	})
}

// TestCutAfterWhileStalled checks that the mark of a cut waits with the bytes
// before it.
func TestCutAfterWhileStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{})
		p.link.Stall(simnet.Up)
		p.link.CutAfter(simnet.Up, 2)
		mustWrite(t, p.near, "abcd")
		if got := p.link.Stats().Cut; got != 0 {
			t.Errorf("cut %d connections during the stall", got)
		}
		p.link.Resume(simnet.Up)
		wantRead(t, p.far, "ab")
		wantReadError(t, p.far, syscall.ECONNRESET)
	})
}

// TestProfileChange checks that a changed latency does not touch what is on its
// way, nor its order.
func TestProfileChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{Latency: time.Second})
		start := time.Now()
		mustWrite(t, p.near, "slow ")
		p.link.Set(simnet.Profile{})
		mustWrite(t, p.near, "fast")
		wantRead(t, p.far, "slow fast")
		if got := time.Since(start); got != time.Second {
			t.Errorf("took %v, want 1s", got)
		}
	})
}
