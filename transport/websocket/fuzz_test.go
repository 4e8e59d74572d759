package websocket

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

const fuzzLimit = 4096

// FuzzServerFrames feeds a host literal bytes, cut into chunks, and compares
// what comes out with a reader that is too simple to be wrong: same messages,
// same kind of end, and no memory beyond what arrived.
func FuzzServerFrames(f *testing.F) {
	for _, b := range fuzzSeeds() {
		for _, chunk := range []uint16{1, 5, 512, 60_000} {
			f.Add(b, chunk)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, chunk uint16) {
		nc := &scriptConn{in: in, chunk: int(chunk)}
		c := newConn(nc, nil, false, Options{MaxMessageBytes: fuzzLimit, PingInterval: -1})
		defer c.Close(transport.CodeNormal, "")
		want, wantCode := simpleRead(in)
		for i := 0; ; i++ {
			got, err := c.Read()
			if err != nil {
				if i != len(want) {
					t.Fatalf("ended with %v after %d messages, want %d", err, i, len(want))
				}
				wantEnd(t, err, wantCode)
				return
			}
			if i >= len(want) || !bytes.Equal(got, want[i]) {
				t.Fatalf("message %d: got %q", i, got)
			}
			if cap(got) > 2*len(in)+16 {
				t.Fatalf("message %d of %d bytes has room for %d", i, len(got), cap(got))
			}
		}
	})
}

func wantEnd(t *testing.T, err error, want transport.Code) {
	t.Helper()
	var ce *transport.CloseError
	switch {
	case want == transport.CodeAbnormal:
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("got %v, want an unexpected end", err)
		}
	case !errors.As(err, &ce) || ce.Code != want:
		t.Fatalf("got %v, want code %v", err, want)
	}
}

func fuzzSeeds() [][]byte {
	text, cont := ws.OpText, ws.OpContinuation
	return [][]byte{
		nil,
		frame(true, text, `{"jsonrpc":"2.0","id":1,"method":"ping"}`),
		join(frame(true, text, ""), frame(true, text, strings.Repeat("x", 126)), frame(true, text, strings.Repeat("y", 2000))),
		join(frame(false, text, "\xe2\x82"), frame(true, ws.OpPing, "p"), frame(true, cont, "\xac")),
		join(frame(true, text, "a"), frame(true, ws.OpClose, "\x03\xe8bye"), frame(true, text, "never")),
		frame(true, ws.OpClose, ""),
		frame(true, ws.OpClose, "\x03\xed"),
		frame(true, text, "\xed\xa0\x80"),
		frame(true, ws.OpBinary, "b"),
		announced(text, fuzzLimit+1),
		announced(text, 1<<63),
		frame(true, text, strings.Repeat("z", fuzzLimit+1)),
		{0x81, 0x01, 'x'},
		{0xf1, 0x80, 0, 0, 0, 0},
	}
}

// simpleRead says which messages in holds and how it ends, CodeAbnormal for a
// cut.
func simpleRead(in []byte) (msgs [][]byte, end transport.Code) {
	r := bytes.NewReader(in)
	var msg []byte
	inside := false
	for {
		h, err := ws.ReadHeader(r)
		switch {
		case errors.Is(err, ws.ErrHeaderLengthMSB):
			return msgs, transport.CodeProtocol
		case err != nil:
			return msgs, transport.CodeAbnormal
		}
		if code := simpleCheck(h, inside, len(msg)); code != 0 {
			return msgs, code
		}
		p := make([]byte, h.Length)
		if _, err := io.ReadFull(r, p); err != nil {
			return msgs, transport.CodeAbnormal
		}
		ws.Cipher(p, h.Mask, 0)
		if h.OpCode == ws.OpClose {
			return msgs, simpleClose(p)
		}
		if h.OpCode.IsControl() {
			continue
		}
		msg, inside = append(msg, p...), !h.Fin
		if inside {
			continue
		}
		if !utf8.Valid(msg) {
			return msgs, transport.CodeInvalidUTF8
		}
		msgs, msg = append(msgs, msg), nil
	}
}

func simpleCheck(h ws.Header, inside bool, size int) transport.Code {
	op := h.OpCode
	known := op <= 2 || op >= 8 && op <= 10
	if !known || h.Rsv != 0 || !h.Masked || op >= 8 && (h.Length > 125 || !h.Fin) ||
		op < 8 && inside != (op == 0) {
		return transport.CodeProtocol
	}
	if op == 2 {
		return transport.CodeUnsupported
	}
	if op < 8 && h.Length > int64(fuzzLimit-size) {
		return transport.CodeTooBig
	}
	return 0
}

func simpleClose(p []byte) transport.Code {
	if len(p) == 0 {
		return transport.CodeNoStatus
	}
	if len(p) == 1 {
		return transport.CodeProtocol
	}
	code := transport.Code(p[0])<<8 | transport.Code(p[1])
	if code < 1000 || code > 1003 && code < 1007 || code > 1014 && code < 3000 || code > 4999 {
		return transport.CodeProtocol
	}
	if !utf8.Valid(p[2:]) {
		return transport.CodeInvalidUTF8
	}
	return code
}
