package websocket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
	"pgregory.net/rapid"
)

// announced is a masked header without its payload.
func announced(op ws.OpCode, n uint64) []byte {
	b := []byte{0x80 | byte(op), 0x80 | 127}
	return append(binary.BigEndian.AppendUint64(b, n), 1, 2, 3, 4)
}

func TestViolations(t *testing.T) {
	text, cont, bin := ws.OpText, ws.OpContinuation, ws.OpBinary
	tests := []struct {
		name string
		in   []byte
		code transport.Code
		is   error
	}{
		{"utf8/c3 28", frame(true, text, "\xc3\x28"), 1007, transport.ErrInvalidUTF8},
		{"utf8/surrogate", frame(true, text, "\xed\xa0\x80"), 1007, transport.ErrInvalidUTF8},
		{"utf8/above range", frame(true, text, "\xf5\x80\x80\x80"), 1007, transport.ErrInvalidUTF8},
		{"utf8/overlong", frame(true, text, "\xc0\xaf"), 1007, transport.ErrInvalidUTF8},
		{"utf8/cut at the end", join(frame(false, text, "a\xe2\x82"), frame(true, cont, "")), 1007, transport.ErrInvalidUTF8},
		{"utf8/in close reason", frame(true, ws.OpClose, "\x03\xe8\xc3\x28"), 1007, transport.ErrInvalidUTF8},
		{"binary", frame(true, bin, "{}"), 1003, transport.ErrBinary},
		{"binary fragment", frame(false, bin, "{}"), 1003, transport.ErrBinary},
		{"reserved data opcode", frame(true, 0x3, "x"), 1002, transport.ErrProtocol},
		{"reserved control opcode", frame(true, 0xb, "x"), 1002, transport.ErrProtocol},
		{"reserved bit 1", []byte{0xc1, 0x80, 0, 0, 0, 0}, 1002, transport.ErrProtocol},
		{"reserved bit 3", []byte{0x91, 0x80, 0, 0, 0, 0}, 1002, transport.ErrProtocol},
		{"unmasked", []byte{0x81, 0x02, '{', '}'}, 1002, transport.ErrProtocol},
		{"continuation first", frame(true, cont, "x"), 1002, transport.ErrProtocol},
		{"text inside a message", join(frame(false, text, "x"), frame(true, text, "y")), 1002, transport.ErrProtocol},
		{"fragmented ping", frame(false, ws.OpPing, "x"), 1002, transport.ErrProtocol},
		{"long ping", frame(true, ws.OpPing, strings.Repeat("x", 126)), 1002, transport.ErrProtocol},
		{"length with its highest bit", announced(text, 1<<63), 1002, transport.ErrProtocol},
		{"close of one byte", frame(true, ws.OpClose, "\x03"), 1002, transport.ErrProtocol},
		{"close code 0", frame(true, ws.OpClose, "\x00\x00"), 1002, transport.ErrProtocol},
		{"close code 1004", frame(true, ws.OpClose, "\x03\xec"), 1002, transport.ErrProtocol},
		{"close code 1005", frame(true, ws.OpClose, "\x03\xed"), 1002, transport.ErrProtocol},
		{"close code 1006", frame(true, ws.OpClose, "\x03\xee"), 1002, transport.ErrProtocol},
		{"close code 2999", frame(true, ws.OpClose, "\x0b\xb7"), 1002, transport.ErrProtocol},
		{"close code 5000", frame(true, ws.OpClose, "\x13\x88"), 1002, transport.ErrProtocol},
		{"too long by one", frame(true, text, strings.Repeat("x", 1025)), 1009, transport.ErrTooLarge},
		{"too long in fragments", join(frame(false, text, strings.Repeat("x", 1024)), frame(false, cont, "y")), 1009, transport.ErrTooLarge},
		{"too long as announced", announced(text, 1<<62), 1009, transport.ErrTooLarge},
		{"too long as announced, to the last bit", announced(text, 1<<63-1), 1009, transport.ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, peer := rawPair(t, Options{MaxMessageBytes: 1024})
				peer.send(join(frame(true, text, "before"), tt.in))
				if got := mustRead(t, c); got != "before" {
					t.Fatalf("got %q, want the message before the violation", got)
				}
				_, err := c.Read()
				wantCloseError(t, err, tt.code, false)
				if !errors.Is(err, tt.is) {
					t.Errorf("got error %v, want %v", err, tt.is)
				}
				peer.wantClose(tt.code)
				if _, again := c.Read(); !errors.Is(again, tt.is) {
					t.Errorf("second read: got %v, want the first cause", again)
				}
				if werr := c.Write([][]byte{[]byte("x")}); !errors.Is(werr, tt.is) {
					t.Errorf("write: got %v, want the first cause", werr)
				}
			})
		})
	}
}

func TestMaskedHostFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, raw := rawRole(t, true, Options{})
		raw.send(frame(true, ws.OpText, "x"))
		_, err := client.Read()
		wantCloseError(t, err, transport.CodeProtocol, false)
	})
}

func TestAccepted(t *testing.T) {
	text, cont := ws.OpText, ws.OpContinuation
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"empty", frame(true, text, ""), []string{""}},
		{"euro split over fragments", join(frame(false, text, "\xe2"), frame(false, cont, "\x82"), frame(true, cont, "\xac")), []string{"€"}},
		{"empty fragments", join(frame(false, text, ""), frame(false, cont, ""), frame(true, cont, "")), []string{""}},
		{"control frames between fragments", join(frame(false, text, "a"), frame(true, ws.OpPong, "p"), frame(true, cont, "b")), []string{"ab"}},
		{"unasked pong", join(frame(true, ws.OpPong, ""), frame(true, text, "x")), []string{"x"}},
		{"several", join(frame(true, text, "1"), frame(true, text, "2"), frame(true, text, "3")), []string{"1", "2", "3"}},
		{"at the limit", frame(true, text, strings.Repeat("x", 1024)), []string{strings.Repeat("x", 1024)}},
		{"length in more bytes than needed", append(announced(text, 0), []byte{}...), []string{""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, peer := rawPair(t, Options{MaxMessageBytes: 1024})
				peer.send(tt.in)
				for i, want := range tt.want {
					if got := mustRead(t, c); got != want {
						t.Errorf("message %d: got %q, want %q", i, got, want)
					}
				}
			})
		})
	}
}

// TestReadModel cuts random messages into random frames, strews control frames
// in between, cuts the bytes again at random, and wants the messages back.
func TestReadModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msgs := rapid.SliceOfN(rapid.String(), 1, 8).Draw(t, "messages")
		if rapid.Bool().Draw(t, "large") {
			msgs = append(msgs, strings.Repeat("0123456789", rapid.IntRange(1, 20_000).Draw(t, "tens")))
		}
		var wire []byte
		for _, m := range msgs {
			wire = append(wire, drawFrames(t, m)...)
		}
		wire = append(wire, frame(true, ws.OpClose, "\x03\xe8bye")...)
		nc := &scriptConn{in: wire, chunk: rapid.SampledFrom([]int{1, 7, 511, 512, 513, 1 << 20}).Draw(t, "chunk")}
		c := newConn(nc, nil, false, Options{PingInterval: -1})
		for i, want := range msgs {
			got, err := c.Read()
			if err != nil || string(got) != want {
				t.Fatalf("message %d: got %q, %v, want %q", i, got, err, want)
			}
		}
		var ce *transport.CloseError
		if _, err := c.Read(); !errors.As(err, &ce) || !ce.Remote || ce.Reason != "bye" {
			t.Fatalf("got %v, want the peer's close", err)
		}
		_ = c.Close(transport.CodeNormal, "")
	})
}

func drawFrames(t *rapid.T, m string) []byte {
	var wire []byte
	op := ws.OpText
	for {
		if rapid.IntRange(0, 3).Draw(t, "control") == 0 {
			wire = append(wire, frame(true, ws.OpPing, rapid.StringN(0, 20, 60).Draw(t, "ping"))...)
		}
		n := rapid.IntRange(0, len(m)).Draw(t, "cut")
		last := n == len(m) && rapid.Bool().Draw(t, "last")
		wire = append(wire, frame(last, op, m[:n])...)
		if last {
			return wire
		}
		m, op = m[n:], ws.OpContinuation
	}
}

// TestAnnouncedLengthCostsNothing: only bytes that arrive may cost memory.
func TestAnnouncedLengthCostsNothing(t *testing.T) {
	c := newConn(&scriptConn{in: announced(ws.OpText, 16<<20)}, nil, false, Options{PingInterval: -1})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.Read()
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v, want an unexpected end", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 256<<10 {
		t.Errorf("a bare header of 16 MiB cost %d bytes", got)
	}
	_ = c.Close(transport.CodeNormal, "")
}

// TestOneByteFragments: the cost of a message must not grow with the square of
// its fragments.
func TestOneByteFragments(t *testing.T) {
	const n = 200_000
	wire := frame(false, ws.OpText, "x")
	wire = append(wire, bytes.Repeat(frame(false, ws.OpContinuation, "x"), n-2)...)
	wire = append(wire, frame(true, ws.OpContinuation, "x")...)
	c := newConn(&scriptConn{in: wire}, nil, false, Options{PingInterval: -1})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := mustRead(t, c)
	runtime.ReadMemStats(&after)
	if len(got) != n {
		t.Fatalf("got %d bytes, want %d", len(got), n)
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 8*n {
		t.Errorf("%d one-byte fragments cost %d bytes", n, cost)
	}
	_ = c.Close(transport.CodeNormal, "")
}

func TestCutInMidMessage(t *testing.T) {
	whole := join(frame(false, ws.OpText, "hello "), frame(true, ws.OpContinuation, strings.Repeat("x", 70_000)))
	for _, n := range []int{0, 1, 5, 7, 12, 13, 30, 600, len(whole) - 1} {
		c := newConn(&scriptConn{in: whole[:n]}, nil, false, Options{PingInterval: -1})
		if _, err := c.Read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: got %v, want an unexpected end", n, err)
		}
		_ = c.Close(transport.CodeNormal, "")
	}
}

func TestRefusedPeerIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := rawPair(t, Options{MaxMessageBytes: 10})
		sent := make(chan error, 1)
		go func() {
			_, err := peer.nc.Write(join(announced(ws.OpText, 11), make([]byte, 1<<20)))
			sent <- err
		}()
		begin := time.Now()
		_, err := c.Read()
		wantCloseError(t, err, transport.CodeTooBig, false)
		if err := <-sent; err != nil {
			t.Errorf("the refused peer could not finish its message: %v", err)
		}
		if took := time.Since(begin); took > closeTimeout {
			t.Errorf("draining took %v", took)
		}
	})
}
