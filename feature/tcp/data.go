package tcp

import (
	"bytes"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/segmentio/asm/base64"
)

// dataText is the text around the bytes of a tcp/data message of one channel.
type dataText struct {
	head    []byte // up to and with the quote before the bytes
	params  []byte // the part of head that a client's params begin with
	payload int    // bytes that fit a message, with the limit last asked for
	limit   int64
}

const (
	notificationHead = `{"jsonrpc":"2.0","method":"` + ahp.MethodTCPData + `","params":`
	dataTail         = `"}}`
)

// newDataText prepares messages of the channel, whose URI is plain ASCII without
// quotes (checkURI).
func newDataText(uri ahp.URI) dataText {
	params := `{"channel":"` + uri + `","data":"`
	head := []byte(notificationHead + params)
	return dataText{head: head, params: head[len(notificationHead):]}
}

// room returns how many bytes fit a message of that size (AHP core, 13 "Data").
func (d *dataText) room(maxFrame int64) int {
	if d.limit != maxFrame {
		envelope := 2 * int64(len(d.head)+len(dataTail))
		d.limit, d.payload = maxFrame, flow.Base64Payload(maxFrame, envelope)
	}
	return d.payload
}

// appendData appends the message that carries raw. It is ASCII, so its size is
// twice its length.
func (d *dataText) appendData(dst, raw []byte) (msg []byte, size int64) {
	start := len(dst)
	dst = append(dst, d.head...)
	n := base64.StdEncoding.EncodedLen(len(raw))
	at := len(dst)
	if cap(dst)-at < n {
		dst = append(dst, make([]byte, n)...)
	} else {
		dst = dst[:at+n]
	}
	base64.StdEncoding.Encode(dst[at:], raw)
	dst = append(dst, dataTail...)
	return dst, 2 * int64(len(dst)-start)
}

// decode returns the bytes of the params of a tcp/data, in the place of the text:
// params must not be used any more. It is false for anything but non-empty, padded
// base64 without whitespace (AHP core, 13 "Data").
func (d *dataText) decode(params jsontext.Value) (raw []byte, ok bool) {
	text, ok := d.text(params)
	if !ok {
		member, _ := jsonrpc.Member(params, "data")
		if text, ok = jsonrpc.StringBytes(member); !ok {
			return nil, false
		}
	}
	return decodeInPlace(text)
}

// text recognises the spelling of most clients, in which data is the second and
// last member, without the walk a member costs: that is half of the work.
func (d *dataText) text(params jsontext.Value) (text []byte, ok bool) {
	text, ok = bytes.CutPrefix(params, d.params)
	if ok {
		text, ok = bytes.CutSuffix(text, []byte(`"}`))
	}
	return text, ok && bytes.IndexByte(text, '"') < 0 && bytes.IndexByte(text, '\\') < 0
}

// decodeInPlace decodes strictly: no line breaks, which the decoder skips, and no
// bits beyond the last byte, which it ignores.
func decodeInPlace(text []byte) (raw []byte, ok bool) {
	n := len(text)
	if n == 0 || n%4 != 0 {
		return nil, false
	}
	want := n / 4 * 3
	if text[n-1] == '=' {
		want--
		spare := byte(0b11)
		last := text[n-2]
		if last == '=' {
			want--
			spare, last = 0b1111, text[n-3]
		}
		if sextet(last)&spare != 0 {
			return nil, false
		}
	}
	got, err := base64.StdEncoding.Decode(text, text)
	return text[:max(got, 0)], err == nil && got == want
}

// sextet is the value of a base64 digit, all bits set for anything else.
func sextet(b byte) byte {
	switch {
	case 'A' <= b && b <= 'Z':
		return b - 'A'
	case 'a' <= b && b <= 'z':
		return b - 'a' + 26
	case '0' <= b && b <= '9':
		return b - '0' + 52
	case b == '+':
		return 62
	case b == '/':
		return 63
	}
	return 0xff
}
