package tcp

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/internal/simnet"
)

// noise is n bytes that no shift or mix-up leaves equal.
func noise(n int) []byte {
	b := make([]byte, n)
	sum := sha256.Sum256(fmt.Append(nil, n))
	for i := 0; i < n; i += len(sum) {
		copy(b[i:], sum[:])
		sum = sha256.Sum256(sum[:])
	}
	return b
}

// reading is what a destination has read, and how that ended.
type reading struct {
	got []byte
	err error // nil for a clean end
}

// start runs a part of a test in its own goroutine, which the world waits for.
func (w *world) start(run func()) { w.serving.Go(run) }

func readAll(r io.Reader) reading {
	got, err := io.ReadAll(r)
	return reading{got, err}
}

// TestSlowDestination reads nothing for five seconds and then everything.
func TestSlowDestination(t *testing.T) {
	bubble(t, Options{}, host.Limits{}, func(w *world) {
		want, done := noise(8<<20), make(chan reading, 1)
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
			time.Sleep(5 * time.Second)
			done <- readAll(conn)
			_ = conn.Close()
		})
		c := w.far(w.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
		began := time.Now()
		if _, err := s.Write(want); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 4*time.Second {
			t.Errorf("8 MiB were taken after %v although nobody read: that is more than a window", waited)
		}
		if err := s.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if r := <-done; r.err != nil || !bytes.Equal(r.got, want) {
			t.Errorf("the destination got %d of %d bytes, %v", len(r.got), len(want), r.err)
		}
		if r := readAll(s); r.err != nil || len(r.got) != 0 {
			t.Errorf("the client got %d bytes, %v", len(r.got), r.err)
		}
		_ = s.unsubscribe()
		c.close()
	})
}

// TestNeverReading: what the host takes for a destination that does not read is
// bounded by the window and the socket's buffer (case 49).
func TestNeverReading(t *testing.T) {
	bubble(t, Options{}, host.Limits{WindowBytes: 256 << 10, WindowFrameBytes: 16 << 10}, func(w *world) {
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) { time.Sleep(time.Minute); _ = conn.Close() })
		c := w.far(w.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
		var sent atomic.Int64
		w.start(func() {
			chunk := make([]byte, 1000)
			for {
				if _, err := s.Write(chunk); err != nil {
					return
				}
				sent.Add(int64(len(chunk)))
			}
		})
		synctest.Wait()
		// A window of messages, of which 3/8 are bytes, and the buffer of the link.
		if most := int64(256<<10+16<<10)*3/8 + simnet.DefaultBufferBytes; sent.Load() > most {
			t.Errorf("%d bytes were taken, at most %d may be", sent.Load(), most)
		}
		if err := s.reset(); err != nil {
			t.Error(err)
		}
		c.close()
	})
}

// TestNothingLostBeforeUnsubscribe: what was sent before the unsubscribe arrives
// at a destination that reads slowly, also when the client's connection goes right
// after it.
func TestNothingLostBeforeUnsubscribe(t *testing.T) {
	for _, hangUp := range []bool{false, true} {
		t.Run(fmt.Sprint("hangUp=", hangUp), func(t *testing.T) {
			bubble(t, Options{}, host.Limits{}, func(w *world) {
				want, done := noise(1<<20), make(chan reading, 1)
				w.net.Link("host", "127.0.0.1:80").Set(simnet.Profile{BytesPerSecond: 200_000}, simnet.Up)
				w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
					_ = conn.CloseWrite()
					done <- readAll(conn)
					_ = conn.Close()
				})
				c := w.far(w.connect())
				s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
				if r := readAll(s); r.err != nil {
					t.Fatal(r.err)
				}
				if _, err := s.Write(want); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(s.CloseWrite(), s.unsubscribe()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // the host has it all
				if hangUp {
					c.close()
				}
				if r := <-done; r.err != nil || !bytes.Equal(r.got, want) {
					t.Errorf("the destination got %d of %d bytes, %v", len(r.got), len(want), r.err)
				}
				c.close()
			})
		})
	}
}

// TestSilentBeyondTheDrain: a destination that does not take the rest in time is
// reset, so that it cannot take it for the whole.
func TestSilentBeyondTheDrain(t *testing.T) {
	bubble(t, Options{}, host.Limits{}, func(w *world) {
		done := make(chan reading, 1)
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
			_ = conn.CloseWrite()
			time.Sleep(time.Minute)
			done <- readAll(conn)
			_ = conn.Close()
		})
		c := w.far(w.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
		if r := readAll(s); r.err != nil {
			t.Fatal(r.err)
		}
		_, err := s.Write(noise(1 << 20))
		if err = errors.Join(err, s.CloseWrite(), s.unsubscribe()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		if n := w.f.Len(); n != 1 {
			t.Errorf("%d connections within the limit, want one that still writes", n)
		}
		time.Sleep(2 * time.Second)
		if n := w.f.Len(); n != 0 {
			t.Errorf("%d connections beyond the limit", n)
		}
		if r := <-done; !errors.Is(r.err, syscall.ECONNRESET) {
			t.Errorf("the destination got %d bytes and %v, want a reset", len(r.got), r.err)
		}
		c.close()
	})
}

// TestSlowInTheDrain: a destination that goes on reading gets what is left, however
// long that takes within reason.
func TestSlowInTheDrain(t *testing.T) {
	for _, tt := range []struct {
		rest  time.Duration // for each 16 KiB
		whole bool
	}{{100 * time.Millisecond, true}, {2 * time.Second, true}, {8 * time.Second, false}, {11 * time.Second, false}} {
		t.Run(tt.rest.String(), func(t *testing.T) {
			bubble(t, Options{}, host.Limits{}, func(w *world) {
				done := make(chan reading, 1)
				w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
					_ = conn.CloseWrite()
					var r reading
					buf := make([]byte, 16<<10)
					for r.err == nil {
						var n int
						n, r.err = io.ReadFull(conn, buf)
						r.got = append(r.got, buf[:n]...)
						time.Sleep(tt.rest)
					}
					done <- r
					_ = conn.Close()
				})
				w.net.Link("host", "127.0.0.1:80").Set(simnet.Profile{BufferBytes: 16 << 10})
				c := w.far(w.connect())
				s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
				if r := readAll(s); r.err != nil {
					t.Fatal(r.err)
				}
				want := noise(1 << 20)
				_, err := s.Write(want)
				if err = errors.Join(err, s.CloseWrite(), s.unsubscribe()); err != nil {
					t.Fatal(err)
				}
				r := <-done
				if whole := r.err == io.EOF && bytes.Equal(r.got, want); whole != tt.whole {
					t.Errorf("the destination got %d bytes and %v", len(r.got), r.err)
				}
				if !tt.whole && !errors.Is(r.err, syscall.ECONNRESET) {
					t.Errorf("the destination got %v, want a reset", r.err)
				}
				c.close()
			})
		})
	}
}

// TestUnreadDataIsAReset: a destination that closes without having read what it
// was sent resets the connection; the client must not see a clean end after a body
// that is too short (case 52).
func TestUnreadDataIsAReset(t *testing.T) {
	bubble(t, Options{}, host.Limits{}, func(w *world) {
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
			_, _ = conn.Write(noise(300_000))
			time.Sleep(time.Second)
			_ = conn.Close() // with the request unread
		})
		c := w.far(w.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
		if _, err := s.Write([]byte("a request")); err != nil {
			t.Fatal(err)
		}
		if r := readAll(s); !errors.Is(r.err, errReset) {
			t.Errorf("%d bytes and %v, want a reset", len(r.got), r.err)
		}
		_ = s.unsubscribe()
		c.close()
	})
}

// TestResetWithFullWindow: a reset passes a full window in either direction, and
// wakes whoever waits for credit (case 43).
func TestResetWithFullWindow(t *testing.T) {
	narrow := flow.Limits{WindowBytes: 8 << 10, MaxFrameBytes: 1 << 10}
	t.Run("destination", func(t *testing.T) {
		bubble(t, Options{}, host.Limits{}, func(w *world) {
			w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
				_, _ = conn.Write(make([]byte, 60_000)) // many windows, and what the host may hold
				time.Sleep(time.Second)
				_ = conn.SetLinger(0)
				_ = conn.Close()
			})
			c := w.far(w.connect())
			s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, narrow)
			time.Sleep(2 * time.Second) // nothing is read, so nothing is credited
			s.mu.Lock()
			err, full := s.err, s.credit.Held()
			s.mu.Unlock()
			if !errors.Is(err, errReset) || full < narrow.WindowBytes {
				t.Errorf("%v with %d of %d bytes outstanding", err, full, narrow.WindowBytes)
			}
			_ = s.unsubscribe()
			c.close()
		})
	})
	t.Run("client", func(t *testing.T) {
		bubble(t, Options{}, host.Limits{WindowBytes: 8 << 10, WindowFrameBytes: 1 << 10}, func(w *world) {
			done := make(chan reading, 1)
			w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
				time.Sleep(2 * time.Second)
				done <- readAll(conn)
				_ = conn.Close()
			})
			c := w.far(w.connect())
			s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
			stopped := make(chan error, 1)
			w.start(func() { _, err := s.Write(make([]byte, 1<<20)); stopped <- err })
			time.Sleep(time.Second)
			if err := s.reset(); err != nil {
				t.Fatal(err)
			}
			if err := <-stopped; !errors.Is(err, errReset) {
				t.Errorf("the writer got %v", err)
			}
			if r := <-done; !errors.Is(r.err, syscall.ECONNRESET) {
				t.Errorf("the destination got %d bytes and %v, want a reset", len(r.got), r.err)
			}
			c.close()
		})
	})
}

// TestEndWaitsForCredit: the end of a direction stands behind its data, both wait
// for credit, and neither is lost; the other direction stays open (case 53).
func TestEndWaitsForCredit(t *testing.T) {
	bubble(t, Options{}, host.Limits{}, func(w *world) {
		want, back := noise(300_000), make(chan reading, 1)
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
			_, _ = conn.Write(want)
			_ = conn.CloseWrite()
			back <- readAll(conn)
			_ = conn.Close()
		})
		c := w.far(w.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, flow.Limits{WindowBytes: 4096, MaxFrameBytes: 1024})
		time.Sleep(5 * time.Second)
		if r := readAll(s); r.err != nil || !bytes.Equal(r.got, want) {
			t.Errorf("the client got %d of %d bytes, %v", len(r.got), len(want), r.err)
		}
		if _, err := s.Write([]byte("still open")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.CloseWrite(), s.unsubscribe()); err != nil {
			t.Fatal(err)
		}
		if r := <-back; r.err != nil || string(r.got) != "still open" {
			t.Errorf("the destination got %q, %v", r.got, r.err)
		}
		c.close()
	})
}

// TestCut: when the client's connection breaks in mid-transfer both ends see a
// reset, never a clean end.
func TestCut(t *testing.T) {
	bubble(t, Options{}, host.Limits{}, func(w *world) {
		done := make(chan reading, 1)
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
			w.start(func() { _, _ = conn.Write(make([]byte, 64<<20)) })
			done <- readAll(conn)
			_ = conn.Close()
		})
		c := w.far(w.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
		w.start(func() { _, _ = s.Write(make([]byte, 64<<20)) })
		if _, err := io.ReadFull(s, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		c.close()
		if r := <-done; !errors.Is(r.err, syscall.ECONNRESET) {
			t.Errorf("the destination: %v, want a reset", r.err)
		}
		if r := readAll(s); !errors.Is(r.err, errCut) {
			t.Errorf("the client: %v", r.err)
		}
	})
}

// TestShutdown: the end of the host is a reset at both ends.
func TestShutdown(t *testing.T) {
	bubble(t, Options{}, host.Limits{}, func(w *world) {
		done := make(chan reading, 1)
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) { done <- readAll(conn); _ = conn.Close() })
		c := w.far(w.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
		if err := w.h.Shutdown(w.t.Context()); err != nil {
			t.Error(err)
		}
		if r := <-done; !errors.Is(r.err, syscall.ECONNRESET) {
			t.Errorf("the destination: %v, want a reset", r.err)
		}
		if r := readAll(s); !errors.Is(r.err, errReset) {
			t.Errorf("the client: %v, want a reset", r.err)
		}
	})
}

// TestFlushedAsItComes: no message waits for a later one (case 55), and a
// destination that closes an idle connection is heard of at once (case 43).
func TestFlushedAsItComes(t *testing.T) {
	bubble(t, Options{}, host.Limits{}, func(w *world) {
		sizes := []int{1, 1023, 1024, 1025, 2048, 4096, 170_000, 200_000, 1<<20 + 1}
		w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
			for _, n := range sizes {
				_, _ = conn.Write(noise(n))
				time.Sleep(5 * time.Second)
			}
			_ = conn.Close()
		})
		c := w.far(w.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 80, ours)
		began := time.Now()
		for i, n := range sizes {
			got := make([]byte, n)
			if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, noise(n)) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			if late := time.Since(began) - time.Duration(i)*5*time.Second; late > 100*time.Millisecond {
				t.Errorf("the last of %d bytes came %v late", n, late)
			}
		}
		if r := readAll(s); r.err != nil {
			t.Error(r.err)
		}
		_ = errors.Join(s.CloseWrite(), s.unsubscribe())
		c.close()
	})
}

// TestEveryEnding ends connections in every way there is, with both directions
// blocked and without; the world's end finds nothing left (case 56).
func TestEveryEnding(t *testing.T) {
	endings := map[string]func(s *farStream, conn *simnet.Conn){
		"client reset": func(s *farStream, _ *simnet.Conn) { _ = s.reset() },
		"unsubscribe":  func(s *farStream, _ *simnet.Conn) { _ = s.unsubscribe() },
		"end, then unsubscribe": func(s *farStream, _ *simnet.Conn) {
			s.f.w.start(func() { _ = s.CloseWrite() }) // waits for credit where that is blocked
			synctest.Wait()
			_ = s.unsubscribe()
		},
		"destination ends": func(s *farStream, c *simnet.Conn) {
			_ = c.CloseWrite()
			time.Sleep(time.Millisecond)
			_ = s.unsubscribe()
		},
		"destination closes": func(s *farStream, c *simnet.Conn) { _ = c.Close(); time.Sleep(time.Millisecond); _ = s.unsubscribe() },
		"destination resets": func(s *farStream, c *simnet.Conn) {
			_ = c.SetLinger(0)
			_ = c.Close()
			time.Sleep(time.Millisecond)
			_ = s.unsubscribe()
		},
		"both reset": func(s *farStream, c *simnet.Conn) { _ = c.SetLinger(0); _ = c.Close(); _ = s.reset() },
		"invalid data": func(s *farStream, _ *simnet.Conn) {
			_ = s.f.notify("tcp/data", fmt.Sprintf(`{"channel":%q,"data":"?"}`, s.uri))
			_ = s.unsubscribe()
		},
		"abandoned": func(*farStream, *simnet.Conn) {}, // the connection ends with it
	}
	for name, ending := range endings {
		for _, blocked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/blocked=%v", name, blocked), func(t *testing.T) {
				bubble(t, Options{Limits: Limits{PerClient: 10_000, PerPrincipal: 10_000}}, host.Limits{WindowBytes: 16 << 10}, func(w *world) {
					var mu sync.Mutex
					conns := make(map[string]*simnet.Conn)
					w.listen("127.0.0.1:80", func(conn *simnet.Conn) {
						mu.Lock()
						conns[conn.RemoteAddr().String()] = conn
						mu.Unlock()
						if blocked {
							_, _ = conn.Write(make([]byte, 400_000))
						}
					})
					c := w.far(w.connect())
					for i := range scale.Count(100) {
						s := c.mustOpen(fmt.Sprintf("ahp-tcp:/t%d", i), "127.0.0.1", 80, flow.Limits{WindowBytes: 8 << 10, MaxFrameBytes: 1 << 10})
						if blocked {
							w.start(func() { _, _ = s.Write(make([]byte, 400_000)) })
						}
						synctest.Wait()
						mu.Lock()
						var conn *simnet.Conn
						for addr, x := range conns {
							conn = x
							delete(conns, addr)
						}
						mu.Unlock()
						ending(s, conn)
						_ = conn.Close()
					}
					synctest.Wait()
					if n := w.f.Len(); name != "abandoned" && n != 0 {
						t.Errorf("%d connections are left", n)
					}
					c.close()
				})
			})
		}
	}
}
