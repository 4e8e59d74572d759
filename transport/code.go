package transport

import "strconv"

// Code says why a connection was closed. The numbers are those of RFC 6455
// section 7.4 and the IANA registry behind it; carriers without a close of
// their own keep them on this side.
type Code uint16

// Close codes in use.
const (
	CodeNormal      Code = 1000 // the purpose is fulfilled
	CodeGoingAway   Code = 1001 // shutdown, or a page that is left
	CodeProtocol    Code = 1002 // the peer broke the framing
	CodeUnsupported Code = 1003 // binary data where text is required
	CodeNoStatus    Code = 1005 // a close came without a code; never sent
	CodeAbnormal    Code = 1006 // no close came at all; never sent
	CodeInvalidUTF8 Code = 1007 // text that is not UTF-8
	CodePolicy      Code = 1008 // refused by a rule of the host
	CodeTooBig      Code = 1009 // a message above the limit
	CodeInternal    Code = 1011 // a failure on the closing side
	CodeTryAgain    Code = 1013 // overload; reconnecting later may help
)

var codeNames = map[Code]string{
	CodeNormal:      "normal",
	CodeGoingAway:   "going away",
	CodeProtocol:    "protocol error",
	CodeUnsupported: "unsupported data",
	CodeNoStatus:    "no status",
	CodeAbnormal:    "abnormal",
	CodeInvalidUTF8: "invalid utf-8",
	CodePolicy:      "policy violation",
	CodeTooBig:      "message too big",
	CodeInternal:    "internal error",
	CodeTryAgain:    "try again later",
}

// String returns the number, followed by its name where it has one.
func (c Code) String() string {
	n := strconv.Itoa(int(c))
	if name, ok := codeNames[c]; ok {
		return n + " " + name
	}
	return n
}

// Sendable reports whether the code may stand in a close message: the assigned
// codes of RFC 6455 section 7.4.1 without the three that only describe a local
// finding (1005, 1006, 1015), the later registered 1012 to 1014, and the two
// ranges left to libraries and applications (3000 to 4999).
func (c Code) Sendable() bool {
	switch {
	case c >= 1000 && c <= 1003, c >= 1007 && c <= 1014, c >= 3000 && c <= 4999:
		return true
	default:
		return false
	}
}
