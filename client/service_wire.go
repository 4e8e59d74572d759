package client

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// maxRelayDepth bounds the nesting of what is relayed (AHP core, 15.6). Hosts do
// not announce it.
const maxRelayDepth = 64

// A message to a service is written by hand: it is the one that programs send by
// the hundred thousand.

// appendServiceHead appends a notification up to its params' member method.
func appendServiceHead(dst []byte, method, id string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"`...)
	dst = append(dst, method...) // a name of the protocol needs no escapes
	dst = append(dst, `","params":`...)
	return appendServiceParams(dst, id)
}

// appendServiceParams appends the params up to their member method.
func appendServiceParams(dst []byte, id string) []byte {
	dst = append(dst, `{"channel":"`+ahp.ClientServicesURI+`","serviceId":`...)
	dst, _ = jsontext.AppendQuote(dst, id) // what is not UTF-8 is replaced
	return append(dst, `,"method":`...)
}

// appendServiceTail appends the rest of the params.
func appendServiceTail(dst []byte, method string, params jsontext.Value) []byte {
	dst, _ = jsontext.AppendQuote(dst, method)
	dst = append(dst, `,"params":`...)
	dst = append(dst, params...)
	return append(dst, '}')
}

// appendTimeout appends what is left of a deadline in milliseconds, rounded up,
// at least one and at most what the host grants.
func appendTimeout(dst []byte, left time.Duration, limit int64) []byte {
	ms := max(1, int64((left+time.Millisecond-1)/time.Millisecond))
	if limit > 0 {
		ms = min(ms, limit)
	}
	dst = append(dst, `,"timeoutMs":`...)
	return strconv.AppendInt(dst, ms, 10)
}

// serviceParams encodes params and checks against the limits of the host what it
// would drop without a word (AHP core, 15.3, R24).
func serviceParams(limits *ahp.ClientServiceLimits, method string, params any) (jsontext.Value, error) {
	if err := checkMethod(limits, method); err != nil {
		return nil, err
	}
	raw, isRaw := params.(jsontext.Value)
	switch {
	case params == nil || isRaw && len(raw) == 0:
		return jsontext.Value("null"), nil
	case !isRaw:
		var err error
		if raw, err = ahp.Marshal(params); err != nil {
			return nil, fmt.Errorf("%w: encode params: %w", ErrInvalidMessage, err)
		}
	}
	if n := limits.ParamsBytes; n > 0 && int64(len(raw)) > n {
		return nil, fmt.Errorf("%w: params of %d bytes, the host takes %d", ErrTooLarge, len(raw), n)
	}
	if isRaw || mayBeDeep(raw) {
		if err := jsonrpc.Check(raw, maxRelayDepth); err != nil {
			return nil, fmt.Errorf("%w: params: %w", ErrInvalidMessage, err)
		}
	}
	return raw, nil
}

func mayBeDeep(raw jsontext.Value) bool {
	return bytes.Count(raw, []byte{'{'})+bytes.Count(raw, []byte{'['}) > maxRelayDepth
}

func checkMethod(limits *ahp.ClientServiceLimits, method string) error {
	limit := int64(128)
	if n := limits.MethodNameLength; n > 0 {
		limit = n
	}
	switch {
	case method == "":
		return fmt.Errorf("%w: the method has no name", ErrInvalidMessage)
	case int64(len(method)) > limit:
		return fmt.Errorf("%w: a method name of %d bytes, the host takes %d", ErrTooLarge, len(method), limit)
	case !utf8.ValidString(method):
		return fmt.Errorf("%w: the name of the method is not UTF-8", ErrInvalidMessage)
	}
	return nil
}

// relayed is a notification or a call that the host brought. The first three
// alias the message.
type relayed struct {
	service, sender, method []byte
	params                  jsontext.Value
}

// readRelayed reads the params of a relayed message; it is false when they miss
// something.
func readRelayed(params jsontext.Value) (in relayed, ok bool) {
	in.params = jsontext.Value("null")
	var found int
	jsonrpc.EachMember(params, func(name []byte, v jsontext.Value) bool {
		var isString bool
		switch string(name) {
		case "serviceId":
			in.service, isString = jsonrpc.StringBytes(v)
		case "senderClientId":
			in.sender, isString = jsonrpc.StringBytes(v)
		case "method":
			in.method, isString = jsonrpc.StringBytes(v)
		case "params":
			in.params = v
		}
		if isString {
			found++
		}
		return true
	})
	return in, found == 3
}
