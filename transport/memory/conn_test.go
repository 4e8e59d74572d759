package memory

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/transport"
)

// fill writes n messages of size bytes and reports how many passed at once.
func fill(t *testing.T, c *Conn, n, size int) (passed int, rest <-chan error) {
	t.Helper()
	done := make(chan error, n)
	go func() {
		for range n {
			done <- c.Write([][]byte{make([]byte, size)})
		}
	}()
	synctest.Wait()
	return len(done), done
}

func TestBackPressure(t *testing.T) {
	tests := []struct {
		name       string
		o          Options
		size, want int
	}{
		{"messages", Options{QueueMessages: 3}, 1, 3},
		{"bytes", Options{QueueBytes: 100}, 30, 3},
		{"bytes exactly", Options{QueueBytes: 90}, 30, 3},
		{"empty messages count as messages", Options{QueueMessages: 2, QueueBytes: 1}, 0, 2},
		{"one above the bound passes alone", Options{QueueBytes: 10}, 30, 1},
		{"defaults", Options{}, 10, DefaultQueueMessages},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := Pair(tt.o)
				passed, rest := fill(t, a, tt.want+2, tt.size)
				if passed != tt.want {
					t.Errorf("%d messages passed unread, want %d", passed, tt.want)
				}
				for range tt.want + 2 {
					if _, err := b.Read(); err != nil {
						t.Errorf("read: %v", err)
					}
				}
				for range tt.want + 2 {
					if err := <-rest; err != nil {
						t.Errorf("write: %v", err)
					}
				}
			})
		})
	}
}

// TestReaderGone: a writer that waits for room hears that nobody will make any.
func TestReaderGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pair(Options{QueueMessages: 1})
		passed, rest := fill(t, a, 2, 1)
		if passed != 1 {
			t.Fatalf("%d messages passed, want 1", passed)
		}
		_ = b.Close(transport.CodePolicy, "no more")
		<-rest
		var ce *transport.CloseError
		if err := <-rest; !errors.As(err, &ce) || !ce.Remote || ce.Code != transport.CodePolicy {
			t.Errorf("write: got %v, want the peer's close", err)
		}
		if _, err := a.Read(); !errors.As(err, &ce) || !ce.Remote {
			t.Errorf("read: got %v, want the peer's close", err)
		}
		if _, err := b.Read(); !errors.As(err, &ce) || ce.Remote {
			t.Errorf("closed end: got %v, want its own close", err)
		}
	})
}

func BenchmarkPair(b *testing.B) {
	x, y := Pair(Options{})
	batch := make([][]byte, 100)
	for i := range batch {
		batch[i] = make([]byte, 200)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := y.Read(); err != nil {
				return
			}
		}
	}()
	b.ReportAllocs()
	b.SetBytes(200)
	for i := 0; i < b.N; i += len(batch) {
		if err := x.Write(batch); err != nil {
			b.Fatal(err)
		}
	}
	_ = x.Close(transport.CodeNormal, "")
	<-done
}

func ExamplePair() {
	client, host := Pair(Options{})
	go func() {
		_ = client.Write([][]byte{[]byte(`{"jsonrpc":"2.0"}`)})
		_ = client.Close(transport.CodeNormal, "done")
	}()
	for {
		m, err := host.Read()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(string(m))
	}
	// Output:
	// {"jsonrpc":"2.0"}
	// closed by peer: 1000 normal: "done"
}
