package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/transport"
)

func TestRead(t *testing.T) {
	const limit = 70_000 // above the buffer, so that both ways through are taken
	long := strings.Repeat("é", limit/2)
	closed := transport.ErrClosed
	tests := []struct {
		name, in string
		want     []string
		end      error
	}{
		{"nothing", "", nil, closed},
		{"lines", "{}\n[]\n", []string{"{}", "[]"}, closed},
		{"carriage returns", "{}\r\n\r\n", []string{"{}", ""}, closed},
		{"carriage return inside", "a\rb\n", []string{"a\rb"}, closed},
		{"one of two carriage returns", "a\r\r\n", []string{"a\r"}, closed},
		{"empty lines", "\n\n", []string{"", ""}, closed},
		{"cut", "{}\n{", []string{"{}"}, io.ErrUnexpectedEOF},
		{"cut at the buffer", strings.Repeat("x", bufferBytes), nil, io.ErrUnexpectedEOF},
		{"at the limit", long + "\n", []string{long}, closed},
		{"at the limit, with carriage return", long + "\r\n", []string{long}, closed},
		{"over the limit", long + "x\n", nil, transport.ErrTooLarge},
		{"far over the limit", long + long + long, nil, transport.ErrTooLarge},
		{"c3 28", "ok\n\xc3\x28\n", []string{"ok"}, transport.ErrInvalidUTF8},
		{"surrogate", "\xed\xa0\x80\n", nil, transport.ErrInvalidUTF8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := New(strings.NewReader(tt.in), io.Discard, Options{MaxMessageBytes: limit})
			for i, want := range tt.want {
				if got, err := c.Read(); err != nil || string(got) != want {
					t.Errorf("line %d: got %.20q, %v, want %.20q", i, got, err, want)
				}
			}
			for range 2 {
				if _, err := c.Read(); !errors.Is(err, tt.end) {
					t.Errorf("got %v, want %v", err, tt.end)
				}
			}
			_ = c.Close(transport.CodeNormal, "")
		})
	}
}

// countingWriter counts calls.
type countingWriter struct {
	bytes.Buffer
	calls int
}

func (w *countingWriter) Write(b []byte) (int, error) {
	w.calls++
	return w.Buffer.Write(b)
}

func TestWriteCoalesces(t *testing.T) {
	w := &countingWriter{}
	c := New(strings.NewReader(""), w, Options{})
	batch := [][]byte{[]byte("one"), {}, []byte("three")}
	if err := c.Write(batch); err != nil {
		t.Fatal(err)
	}
	if got := w.String(); got != "one\n\nthree\n" || w.calls != 1 {
		t.Errorf("got %q in %d calls", got, w.calls)
	}
	if n := testing.AllocsPerRun(100, func() { _ = c.Write(batch); w.Reset() }); n >= 1 {
		t.Errorf("a batch cost %v allocations", n)
	}
}

// TestUnframeable: such a message is the sender's fault; nothing of its batch
// leaves, and the connection lives.
func TestUnframeable(t *testing.T) {
	for _, bad := range []string{"a\nb", "\n", "a\r", "\r"} {
		w := &countingWriter{}
		c := New(strings.NewReader("in\n"), w, Options{})
		if err := c.Write([][]byte{[]byte("fine"), []byte(bad)}); !errors.Is(err, transport.ErrUnframeable) {
			t.Errorf("%q: got %v, want ErrUnframeable", bad, err)
		}
		if err := c.Write([][]byte{[]byte("next")}); err != nil || w.String() != "next\n" {
			t.Errorf("%q: afterwards %v and %q", bad, err, w.String())
		}
		if m, err := c.Read(); err != nil || string(m) != "in" {
			t.Errorf("%q: read %q, %v", bad, m, err)
		}
	}
}

func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := io.Pipe()
		_, w := io.Pipe() // nobody reads
		c := New(r, w, Options{})
		read := make(chan error, 1)
		go func() {
			_, err := c.Read()
			read <- err
		}()
		begin := time.Now()
		if err := c.Write([][]byte{[]byte("x")}); !errors.Is(err, transport.ErrWriteTimeout) {
			t.Errorf("write: got %v, want ErrWriteTimeout", err)
		}
		if took := time.Since(begin); took != DefaultWriteTimeout {
			t.Errorf("gave up after %v", took)
		}
		if err := <-read; !errors.Is(err, transport.ErrWriteTimeout) {
			t.Errorf("read: got %v, want the first cause", err)
		}
		_ = c.Close(transport.CodeNormal, "")
	})
}

// stuck is a stream that no Close wakes, like a terminal in blocking mode.
type stuck struct{ release chan struct{} }

func (s stuck) Write([]byte) (int, error) {
	<-s.release
	return 0, io.ErrClosedPipe
}

// TestCloseGivesUp: Close is bounded also when the stream cannot be woken.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{make(chan struct{})}
		c := New(strings.NewReader(""), s, Options{WriteTimeout: -1})
		wrote := make(chan error, 1)
		go func() { wrote <- c.Write([][]byte{[]byte("x")}) }()
		synctest.Wait()
		begin := time.Now()
		_ = c.Close(transport.CodeNormal, "")
		if took := time.Since(begin); took != 2*closeTimeout {
			t.Errorf("close took %v", took)
		}
		close(s.release)
		if err := <-wrote; !errors.Is(err, transport.ErrClosed) {
			t.Errorf("write: got %v", err)
		}
	})
}

// TestOSPipes uses what a child process really has.
func TestOSPipes(t *testing.T) {
	hostIn, childOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	childIn, hostOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	host, child := New(hostIn, hostOut, Options{}), New(childIn, childOut, Options{Peer: "parent"})
	big := strings.Repeat("x", 1<<20) // more than a pipe holds
	go func() { _ = host.Write([][]byte{[]byte(big), []byte("end")}) }()
	for _, want := range []string{big, "end"} {
		if m, err := child.Read(); err != nil || string(m) != want {
			t.Fatalf("got %d bytes, %v", len(m), err)
		}
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := child.Read()
		waiting <- err
	}()
	_ = host.Close(transport.CodeNormal, "")
	var ce *transport.CloseError
	if err := <-waiting; !errors.As(err, &ce) || !ce.Remote || ce.Code != transport.CodeNoStatus {
		t.Errorf("got %v, want the end of the stream", err)
	}
	_ = child.Close(transport.CodeNormal, "")
	if child.RemoteAddr() != "parent" || host.RemoteAddr() != "stdio" {
		t.Errorf("got %q and %q", child.RemoteAddr(), host.RemoteAddr())
	}
}
