package client

import (
	"errors"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/segmentio/asm/base64"
)

// strictBase64 refuses trailing bits. It passes over line ends, which the length
// of the result shows.
var strictBase64 = base64.StdEncoding.Strict()

// errBadData is a tcp/data whose data is not what AHP core, 13 "Data" demands.
var errBadData = errors.New("data is not padded base64, or empty")

// decodedBytes is how many bytes padded base64 stands for, -1 if its length and
// padding are impossible.
func decodedBytes(text []byte) int {
	n := len(text)
	switch {
	case n == 0 || n%4 != 0:
		return -1
	case text[n-2] == '=' && text[n-1] == '=':
		return n/4*3 - 2
	case text[n-1] == '=':
		return n/4*3 - 1
	}
	return n / 4 * 3
}

// decodeBase64 decodes text, which stands for n bytes, into dst, which has room
// for n rounded up to three.
func decodeBase64(dst, text []byte, n int) error {
	got, err := strictBase64.Decode(dst, text)
	if err != nil || got != n {
		return errBadData
	}
	return nil
}

// frame is an encoded tcp/data on its way out.
type frame struct {
	msg   []byte
	size  int64 // in the window
	small bool
}

// Frames of two sizes are shared by all connections: one for a large write, one
// for what people type.
const (
	smallFrame = 4 << 10
	largeFrame = 129 << 10 // of maxOwnFrame, which counts two for a character
)

var (
	smallFrames = sync.Pool{New: func() any { return &frame{msg: make([]byte, 0, smallFrame), small: true} }}
	largeFrames = sync.Pool{New: func() any { return &frame{msg: make([]byte, 0, largeFrame)} }}
)

func takeFrame(bytes int) *frame {
	if bytes <= smallFrame {
		return smallFrames.Get().(*frame)
	}
	return largeFrames.Get().(*frame)
}

func giveFrame(f *frame) {
	if f.small {
		smallFrames.Put(f)
	} else {
		largeFrames.Put(f)
	}
}

// dataHead is a tcp/data up to its data, for a channel.
func dataHead(uri ahp.URI) []byte {
	head := []byte(`{"jsonrpc":"2.0","method":"` + ahp.MethodTCPData + `","params":{"channel":`)
	head, _ = jsontext.AppendQuote(head, uri)
	return append(head, `,"data":"`...)
}

const dataTail = `"}}`

// encodeData encodes a tcp/data. Head is ASCII, so a character is a byte.
func encodeData(head, data []byte) *frame {
	n := strictBase64.EncodedLen(len(data))
	f := takeFrame(len(head) + n + len(dataTail))
	f.msg = append(f.msg[:0], head...)
	f.msg = f.msg[:len(head)+n]
	strictBase64.Encode(f.msg[len(head):], data)
	f.msg = append(f.msg, dataTail...)
	f.size = 2 * int64(len(f.msg))
	return f
}

// controlText is a message with nothing but its channel.
func controlText(method string, uri ahp.URI) []byte {
	msg := []byte(`{"jsonrpc":"2.0","method":"` + method + `","params":{"channel":`)
	msg, _ = jsontext.AppendQuote(msg, uri)
	return append(msg, "}}"...)
}
