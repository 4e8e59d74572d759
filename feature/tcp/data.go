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

// encoded returns the text of the bytes in the params of a tcp/data. The spelling of
// most clients, in which data is the second and last member, is recognised without
// the walk a member costs: that is half of the work.
func (d *dataText) encoded(params jsontext.Value) (text []byte, ok bool) {
	text, ok = bytes.CutPrefix(params, d.params)
	if ok {
		text, ok = bytes.CutSuffix(text, []byte(`"}`))
	}
	if ok && bytes.IndexByte(text, '"') < 0 && bytes.IndexByte(text, '\\') < 0 {
		return text, true
	}
	member, _ := jsonrpc.Member(params, "data")
	return jsonrpc.StringBytes(member)
}

// decodedLen is how many bytes a text stands for, if it is base64.
func decodedLen(text []byte) int {
	n := len(text) / 4 * 3
	for i := 1; i <= 2 && i <= len(text) && text[len(text)-i] == '='; i++ {
		n--
	}
	return max(n, 0)
}

// decode decodes strictly into dst, which has decodedLen bytes or is the text
// itself: nothing but non-empty, padded base64 (AHP core, 13 "Data"). The decoder
// skips line breaks and ignores bits beyond the last byte; neither is allowed.
func decode(dst, text []byte) (raw []byte, ok bool) {
	n := len(text)
	if n == 0 || n%4 != 0 || !cleanTail(text) {
		return nil, false
	}
	got, err := base64.StdEncoding.Decode(dst, text)
	return dst[:max(got, 0)], err == nil && got == decodedLen(text)
}

// cleanTail reports whether the last digit has no bits beyond the last byte.
func cleanTail(text []byte) bool {
	n := len(text)
	switch {
	case text[n-1] != '=':
		return true
	case text[n-2] == '=':
		return sextet(text[n-3])&0b1111 == 0
	}
	return sextet(text[n-2])&0b11 == 0
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
