package tcp

import (
	"bytes"
	"io"
	"testing"

	"github.com/causeway-ahp/causeway/host"
)

// TestEcho is the shortest way through everything.
func TestEcho(t *testing.T) {
	bubble(t, Options{}, host.Limits{}, func(w *world) {
		w.listen("127.0.0.1:7", echo)
		c := w.far(w.connect())
		s := c.mustOpen("ahp-tcp:/t1", "127.0.0.1", 7, ours)
		if _, err := s.Write([]byte("Hello")); err != nil {
			t.Fatal(err)
		}
		if err := s.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(s)
		if err != nil || !bytes.Equal(got, []byte("Hello")) {
			t.Errorf("got %q, %v", got, err)
		}
		if err := s.unsubscribe(); err != nil {
			t.Error(err)
		}
		c.close()
	})
}
