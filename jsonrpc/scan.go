package jsonrpc

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Members of an envelope; part is the index of one in envelope.parts.
type part int

const (
	partVersion part = iota
	partID
	partMethod
	partParams
	partResult
	partError
	partCount
	partUnknown = partCount
)

// envelope is a message taken apart but not yet judged.
type envelope struct {
	parts      [partCount]jsontext.Value
	last       int // Message.Last
	duplicated bool
}

// Scan reads one complete message. It validates the whole text in one pass:
// grammar (RFC 8259), UTF-8, [MaxDepth], [MaxValues] and the envelope's rules.
// Lone surrogate escapes are accepted and unknown members of the envelope are
// ignored, also when they repeat: nobody reads them. Inside params and result,
// duplicate names are left to whoever decodes those. The Message aliases data.
//
// The error is an [*Error]: [ErrParse] when data is not JSON, otherwise
// [ErrInvalidRequest], which also matches [ErrTooComplex] beyond the bounds.
// The Message then holds what is needed to answer: its Kind is KindRequest if
// there was a method, KindResponse if there was a result or an error instead,
// and its ID is set if there was a usable one. Both are meaningful only
// together: an id of a response is one of ours and must not be used in an
// answer to the peer.
func Scan(data []byte) (Message, error) {
	var e envelope
	c := checker{data: data, left: MaxValues}
	i := skipSpace(data, 0)
	isObject := i < len(data) && data[i] == '{'
	var end int
	if isObject {
		end = e.scan(&c, i)
	} else {
		end = c.value(i, 0)
	}
	if end < 0 {
		return Message{}, scanError(end)
	}
	if skipSpace(data, end) != len(data) {
		return Message{}, ErrParse
	}
	if !isObject {
		return Message{}, notAnObject(data[i])
	}
	return e.message()
}

// Check validates one JSON value by the rules of [Scan], nested at most depth
// containers deep; depth is at most MaxDepth. The errors are those of Scan.
func Check(raw jsontext.Value, depth int) error {
	c := checker{data: raw, left: MaxValues}
	end := c.value(skipSpace(raw, 0), MaxDepth-depth)
	if end < 0 {
		return scanError(end)
	}
	if skipSpace(raw, end) != len(raw) {
		return ErrParse
	}
	return nil
}

func scanError(result int) error {
	switch result {
	case tooDeep:
		return &Error{Code: CodeInvalidRequest, Message: "message is nested too deeply", cause: ErrTooDeep}
	case tooMany:
		return &Error{Code: CodeInvalidRequest, Message: "message holds too many values", cause: ErrTooManyValues}
	default:
		return ErrParse
	}
}

func notAnObject(first byte) error {
	if first == '[' {
		return invalid("batches are not supported")
	}
	return invalid("message is not an object")
}

// scan is checker.object for the envelope at i, noting its members.
func (e *envelope) scan(c *checker, i int) int {
	c.left--
	i = skipSpace(c.data, i+1)
	if i < len(c.data) && c.data[i] == '}' {
		return i + 1
	}
	for {
		start := i
		if i = c.name(i); i < 0 {
			return i
		}
		p := envelopePart(c.data[start+1 : i-1])
		if i = c.colon(i); i < 0 {
			return i
		}
		start, c.last = i, i
		if i = c.value(i, 1); i < 0 {
			return i
		}
		e.note(p, c.data[start:i:i])
		if p == partParams {
			e.last = c.last - start
		}
		var done bool
		if i, done = c.next(i, '}'); done || i < 0 {
			return i
		}
	}
}

func (e *envelope) note(p part, value jsontext.Value) {
	if p == partUnknown {
		return
	}
	e.duplicated = e.duplicated || e.parts[p] != nil
	e.parts[p] = value
}

// envelopePart returns the member that name, as it is spelled, stands for.
func envelopePart(name []byte) part {
	if p := partNamed(name); p != partUnknown || !hasEscape(name) {
		return p
	}
	return partNamed(plainText(name))
}

func partNamed(name []byte) part {
	switch string(name) {
	case "jsonrpc":
		return partVersion
	case "id":
		return partID
	case "method":
		return partMethod
	case "params":
		return partParams
	case "result":
		return partResult
	case "error":
		return partError
	default:
		return partUnknown
	}
}

// message judges the envelope. Every refusal is an InvalidRequest: the text is
// known to be JSON.
func (e *envelope) message() (Message, error) {
	m := Message{Kind: e.kind()}
	var reason string
	m.ID, reason = e.id(m.Kind)
	if r := e.fault(); r != "" {
		reason = r
	}
	if reason == "" {
		reason = e.fill(&m)
	}
	if reason != "" {
		return e.refused(m), invalid(reason)
	}
	return m, nil
}

// kind goes by which members are there: zero when none of them says anything.
func (e *envelope) kind() Kind {
	switch {
	case e.parts[partMethod] != nil && e.parts[partID] != nil:
		return KindRequest
	case e.parts[partMethod] != nil:
		return KindNotification
	case e.parts[partResult] != nil || e.parts[partError] != nil:
		return KindResponse
	default:
		return 0
	}
}

// id reads the id. Only an error may come without one or with null: it then
// reports that the peer could not read something we sent.
func (e *envelope) id(kind Kind) (id ID, reason string) {
	raw := e.parts[partID]
	if raw == nil || string(raw) == "null" {
		if kind == KindNotification || kind == KindResponse && e.parts[partError] != nil {
			return ID{}, ""
		}
		return ID{}, "id is missing or null"
	}
	id, err := ParseID(raw)
	if err != nil {
		return ID{}, "id is neither a string nor an integer, or too long"
	}
	return id, ""
}

// fault returns what is wrong with the combination of members, if anything.
func (e *envelope) fault() string {
	hasMethod, hasResult, hasError := e.parts[partMethod] != nil, e.parts[partResult] != nil, e.parts[partError] != nil
	switch version, _ := StringBytes(e.parts[partVersion]); {
	case e.duplicated:
		return "a member of the message appears twice"
	case string(version) != "2.0":
		return `jsonrpc is not "2.0"`
	case hasMethod && (hasResult || hasError):
		return "message has both a method and a result or error"
	case hasResult && hasError:
		return "response has both a result and an error"
	case !hasMethod && !hasResult && !hasError:
		return "message has neither a method nor a result or error"
	default:
		return ""
	}
}

// fill reads the members that belong to m.Kind.
func (e *envelope) fill(m *Message) (reason string) {
	if m.Kind == KindResponse {
		m.Result = e.parts[partResult]
		return e.fillError(m)
	}
	method, ok := StringBytes(e.parts[partMethod])
	if !ok {
		return "method is not a string"
	}
	params := e.parts[partParams]
	if params != nil && params[0] != '{' && params[0] != '[' {
		return "params is neither an object nor an array"
	}
	m.Method, m.Params, m.Last = methods.get(method), params, e.last
	return ""
}

func (e *envelope) fillError(m *Message) (reason string) {
	raw := e.parts[partError]
	if raw == nil {
		return ""
	}
	var ok bool
	if m.Error, ok = parseError(raw); !ok {
		return "error is not an object with an integer code and a message"
	}
	return ""
}

func parseError(raw jsontext.Value) (*Error, bool) {
	var hasCode, hasMessage bool
	var e Error
	EachMember(raw, func(name []byte, value jsontext.Value) bool {
		switch string(name) {
		case "code":
			code, err := strconv.ParseInt(string(value), 10, 64)
			e.Code, hasCode = code, err == nil
		case "message":
			e.Message, hasMessage = StringValue(value)
		case "data":
			e.Data = value
		}
		return true
	})
	return &e, hasCode && hasMessage
}

// refused reduces m to what the caller needs to answer for it.
func (e *envelope) refused(m Message) Message {
	left := Message{Kind: m.Kind, ID: m.ID}
	if e.parts[partMethod] != nil {
		left.Kind = KindRequest
	}
	if e.duplicated {
		left.ID = ID{} // which of two ids is meant is anybody's guess
	}
	return left
}
