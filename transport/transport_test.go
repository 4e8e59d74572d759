package transport_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/causeway-ahp/causeway/transport"
)

func TestCloseError(t *testing.T) {
	tests := []struct {
		err  *transport.CloseError
		text string
	}{
		{&transport.CloseError{Code: 1000}, "closed here: 1000 normal"},
		{&transport.CloseError{Code: 1008, Reason: "no\n", Remote: true}, `closed by peer: 1008 policy violation: "no\n"`},
		{&transport.CloseError{Code: 1009, Err: transport.ErrTooLarge}, "closed here: 1009 message too big: message too large"},
		{&transport.CloseError{Code: 4321, Remote: true, Err: io.EOF}, "closed by peer: 4321: EOF"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.text {
			t.Errorf("got %q, want %q", got, tt.text)
		}
		wrapped := fmt.Errorf("read: %w", tt.err)
		if !errors.Is(wrapped, transport.ErrClosed) {
			t.Errorf("%v does not match ErrClosed", wrapped)
		}
		if tt.err.Err != nil && !errors.Is(wrapped, tt.err.Err) {
			t.Errorf("%v does not match its cause", wrapped)
		}
		if errors.Is(wrapped, transport.ErrPeerSilent) {
			t.Errorf("%v matches a foreign cause", wrapped)
		}
	}
}

func TestSendable(t *testing.T) {
	may := map[transport.Code]bool{}
	for _, r := range [][2]transport.Code{{1000, 1003}, {1007, 1014}, {3000, 4999}} {
		for c := r[0]; c <= r[1]; c++ {
			may[c] = true
		}
	}
	for i := range 1 << 16 {
		if c := transport.Code(i); c.Sendable() != may[c] {
			t.Errorf("%v: got sendable %v", c, c.Sendable())
		}
	}
}
