package simnet_test

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/causeway-ahp/causeway/internal/simnet"
)

// TestStreamModel runs random traffic and random faults over one connection and
// holds it to the model of a stream: the reader has a prefix of what was
// written; the whole of it unless the link was cut; and no byte is unaccounted.
func TestStreamModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			p := connectOn(t, simnet.New(rapid.Uint64().Draw(t, "seed")), drawProfile(t))
			s := &stream{pair: p}
			s.start()
			t.Repeat(map[string]func(*rapid.T){
				"write":   func(t *rapid.T) { s.write(rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "data")) },
				"sleep":   func(t *rapid.T) { time.Sleep(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond) },
				"profile": func(t *rapid.T) { p.link.Set(drawProfile(t)) },
				"stall":   func(*rapid.T) { p.link.Stall() },
				"resume":  func(*rapid.T) { p.link.Resume() },
				"cut after": func(t *rapid.T) {
					if rapid.IntRange(0, 9).Draw(t, "odds") == 0 {
						p.link.CutAfter(simnet.Up, rapid.Int64Range(0, 500).Draw(t, "bytes"))
					}
				},
				"": func(t *rapid.T) { s.check(t) },
			})
			s.finish(t)
		})
	})
}

func drawProfile(t *rapid.T) simnet.Profile {
	return simnet.Profile{
		Latency:        time.Duration(rapid.IntRange(0, 200).Draw(t, "latency ms")) * time.Millisecond,
		Jitter:         time.Duration(rapid.IntRange(0, 200).Draw(t, "jitter ms")) * time.Millisecond,
		BytesPerSecond: rapid.SampledFrom([]int64{0, 50, 5000}).Draw(t, "rate"),
		BufferBytes:    rapid.IntRange(1, 1000).Draw(t, "buffer"),
		MaxPieceBytes:  rapid.IntRange(0, 20).Draw(t, "piece"),
	}
}

// stream is a writer, a reader and what each has seen.
type stream struct {
	pair
	todo    chan []byte
	workers sync.WaitGroup

	mu        sync.Mutex
	wrote     []byte // accepted by Write
	tried     []byte // given to Write
	writeErr  error
	read      []byte
	readEnded error
}

func (s *stream) start() {
	s.todo = make(chan []byte, 1000)
	s.workers.Go(s.writeLoop)
	s.workers.Go(s.readLoop)
}

func (s *stream) write(b []byte) { s.todo <- b }

func (s *stream) writeLoop() {
	for b := range s.todo {
		s.mu.Lock()
		s.tried = append(s.tried, b...)
		s.mu.Unlock()
		n, err := s.near.Write(b)
		s.mu.Lock()
		s.wrote = append(s.wrote, b[:n]...)
		s.writeErr = err
		s.mu.Unlock()
		if err != nil {
			break
		}
	}
	for range s.todo { // the connection is gone
	}
	s.near.CloseWrite()
}

func (s *stream) readLoop() {
	b := make([]byte, 64)
	for {
		n, err := s.far.Read(b)
		s.mu.Lock()
		s.read = append(s.read, b[:n]...)
		s.readEnded = err
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *stream) check(t *rapid.T) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !bytes.HasPrefix(s.tried, s.read) {
		t.Fatalf("read something else than was written:\n%q\n%q", s.read, s.tried)
	}
	up := s.link.Stats().Up
	if up.Sent != up.Delivered+up.Lost+up.InFlight || up.InFlight < 0 {
		t.Fatalf("bytes unaccounted for: %+v", up)
	}
	if up.Delivered != int64(len(s.read)) {
		t.Fatalf("%d bytes delivered, %d read by a reader that never pauses", up.Delivered, len(s.read))
	}
}

func (s *stream) finish(t *rapid.T) {
	close(s.todo)
	s.link.Resume()
	s.workers.Wait()
	s.check(t)
	switch {
	case s.link.Stats().Cut > 0:
		if !errors.Is(s.readEnded, syscall.ECONNRESET) {
			t.Fatalf("after a cut Read = %v, want ECONNRESET", s.readEnded)
		}
	case s.writeErr != nil || !errors.Is(s.readEnded, io.EOF) || !bytes.Equal(s.read, s.tried):
		t.Fatalf("no cut, but wrote %d (%v) of %d, read %d (%v)",
			len(s.wrote), s.writeErr, len(s.tried), len(s.read), s.readEnded)
	}
}

// TestConcurrentWritesDoNotMix lets two writers share a small buffer.
func TestConcurrentWritesDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, simnet.Profile{BufferBytes: 3, MaxPieceBytes: 2, Latency: hop})
		var writers sync.WaitGroup
		for _, text := range []string{"aaaaaaaaaa", "bbbbbbbbbb"} {
			writers.Go(func() { mustWrite(t, p.near, text) })
		}
		b := make([]byte, 20)
		if _, err := io.ReadFull(p.far, b); err != nil {
			t.Fatal(err)
		}
		writers.Wait()
		if got := string(b); got != "aaaaaaaaaabbbbbbbbbb" && got != "bbbbbbbbbbaaaaaaaaaa" {
			t.Errorf("read %q", got)
		}
	})
}
