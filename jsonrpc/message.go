package jsonrpc

import "github.com/go-json-experiment/json/jsontext"

// MethodCancel is the notification by which a peer takes back one of its own
// requests. Its params are {"id": …} (AHP core, 15.5).
const MethodCancel = "$/cancelRequest"

// Kind says what a message is.
type Kind uint8

// The kinds of a message. The zero Kind belongs to no valid message.
const (
	KindRequest Kind = iota + 1
	KindNotification
	KindResponse
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case KindRequest:
		return "request"
	case KindNotification:
		return "notification"
	case KindResponse:
		return "response"
	default:
		return "unknown"
	}
}

// Message is one JSON-RPC message. Params, Result and Error.Data alias the text
// it was scanned from; they are nil when the member is absent, and the four
// bytes null when it is null.
type Message struct {
	Kind   Kind
	ID     ID     // absent in notifications, and in an error that answers nothing in particular
	Method string // requests and notifications
	Params jsontext.Value
	Result jsontext.Value // responses: this or Error
	Error  *Error

	// Last is where the value of the last member of Params begins, 0 if Params is
	// no object or has no member. See Split.
	Last int
}

// Split cuts Params before the value of its last member. Two messages with the same
// head differ in that value alone, so whoever has read one need not read the other.
// It is false when there is no such value.
func (m *Message) Split() (head []byte, value jsontext.Value, ok bool) {
	if m.Last == 0 {
		return nil, nil, false
	}
	value = m.Params[m.Last : len(m.Params)-1]
	for isSpace(value[len(value)-1]) {
		value = value[:len(value)-1]
	}
	return m.Params[:m.Last], value, true
}
