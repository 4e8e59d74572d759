package jsonrpc

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The encoders append one complete message, without spaces, to dst. Values are
// copied as they are and must be valid JSON.

// AppendRequest appends a request. Nil params are left out.
func AppendRequest(dst []byte, id ID, method string, params jsontext.Value) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = id.AppendTo(dst)
	dst = append(dst, `,"method":`...)
	return appendCallTail(dst, method, params)
}

// AppendNotification appends a notification. Nil params are left out.
func AppendNotification(dst []byte, method string, params jsontext.Value) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	return appendCallTail(dst, method, params)
}

func appendCallTail(dst []byte, method string, params jsontext.Value) []byte {
	dst = appendQuoted(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult appends a successful response. A nil result is written as null,
// since a response without the member is not valid (AHP core, 2).
func AppendResult(dst []byte, id ID, result jsontext.Value) []byte {
	dst = appendResultHead(dst, id)
	if len(result) == 0 {
		result = jsontext.Value("null")
	}
	dst = append(dst, result...)
	return append(dst, '}')
}

func appendResultHead(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = id.AppendTo(dst)
	return append(dst, `,"result":`...)
}

// AppendError appends a failed response. An absent id is written as null.
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = id.AppendTo(dst)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, e.Code, 10)
	dst = append(dst, `,"message":`...)
	dst = appendQuoted(dst, e.Message)
	if len(e.Data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, "}}"...)
}
