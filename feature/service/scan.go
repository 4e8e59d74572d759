package service

import (
	"bytes"
	"strconv"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// message is a notification or a call as it came. Its parts alias the params.
type message struct {
	serviceID []byte
	method    jsontext.Value // a string, as it was spelled
	params    jsontext.Value // null when absent
	timeout   jsontext.Value // nil when absent
}

var null = jsontext.Value("null")

// scan reads the params of a message without decoding what they carry. Unknown
// members are ignored, a senderClientId among them (R18). The error says what is
// wrong to whoever may be told.
func (f *Feature) scan(raw jsontext.Value) (m message, err *ahp.Error) {
	m.params = null
	jsonrpc.EachMember(raw, func(name []byte, v jsontext.Value) bool {
		switch string(name) {
		case "channel":
			err = wrongChannel(v)
		case "serviceId":
			m.serviceID, _ = jsonrpc.StringBytes(v)
		case "method":
			m.method = v
		case "params":
			m.params = v
		case "timeoutMs":
			m.timeout = v
		}
		return err == nil
	})
	if err == nil {
		err = f.check(&m)
	}
	return m, err
}

// check holds a message against the limits.
func (f *Feature) check(m *message) *ahp.Error {
	method, ok := jsonrpc.StringBytes(m.method)
	switch {
	case m.serviceID == nil:
		return errServiceID
	case !ok || len(method) == 0 || len(method) > f.limits.MethodBytes:
		if len(method) > f.limits.MethodBytes {
			f.reached(limitMethod)
		}
		return invalid("method must be a string of 1 to %d bytes", f.limits.MethodBytes)
	}
	return f.checkParams(m.params)
}

func (f *Feature) checkParams(params jsontext.Value) *ahp.Error {
	switch {
	case len(params) > f.limits.ParamsBytes:
		f.reached(limitParams)
		return invalid("params are larger than %d bytes", f.limits.ParamsBytes)
	case deeper(params, f.limits.Depth):
		f.reached(limitDepth)
		return invalid("params are nested more than %d deep", f.limits.Depth)
	}
	return nil
}

// checkChannel refuses params of a request that name another channel. One that
// names none is accepted: the proposal's own messages do not (AHP core, 15.1).
func checkChannel(params jsontext.Value) error {
	raw, ok := jsonrpc.Member(params, "channel")
	if !ok {
		return nil
	}
	if err := wrongChannel(raw); err != nil {
		return err
	}
	return nil
}

func wrongChannel(raw jsontext.Value) *ahp.Error {
	if channel, _ := jsonrpc.StringBytes(raw); string(channel) != ahp.ClientServicesURI {
		return errChannel
	}
	return nil
}

// readTimeout returns how long a call may take (AHP core, 15.5).
func (f *Feature) readTimeout(raw jsontext.Value) (time.Duration, *ahp.Error) {
	if raw == nil {
		return f.limits.Timeout, nil
	}
	ms, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || ms < 1 {
		return 0, errTimeoutMs
	}
	if ms > f.limits.MaxTimeout.Milliseconds() {
		f.reached(limitMaxTimeout)
		return f.limits.MaxTimeout, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// deeper reports whether a valid value is nested more than limit deep. A level
// takes two bytes; for longer values the count of all brackets settles nearly
// every one at the speed of a byte search.
func deeper(v jsontext.Value, limit int) bool {
	if len(v) <= 2*limit || v[0] != '{' && v[0] != '[' {
		return false
	}
	if bytes.Count(v, []byte{'{'})+bytes.Count(v, []byte{'['}) <= limit {
		return false
	}
	return depth(v) > limit
}

// depth counts the containers a valid value is nested in, brackets in strings
// left out.
func depth(v jsontext.Value) (deepest int) {
	open := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = closingQuote(v, i)
		case '{', '[':
			open++
			deepest = max(deepest, open)
		case '}', ']':
			open--
		}
	}
	return deepest
}

// closingQuote returns where the string that begins at i ends.
func closingQuote(v jsontext.Value, i int) int {
	for i++; i < len(v) && v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i
}
