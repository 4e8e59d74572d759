package program

import (
	"errors"
	"strconv"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// line is what the program is to be told.
type line struct {
	rest     []byte        // all but the id
	answered chan<- answer // nil for a notification
}

func newLine(sender, method string, params jsontext.Value, answered chan<- answer) (line, error) {
	compact := params.Clone()
	if err := compact.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return line{}, err
	}
	rest := append([]byte(nil), `"method":`...)
	rest, _ = jsontext.AppendQuote(rest, method) // what is not UTF-8 is replaced
	rest = append(rest, `,"params":`...)
	rest = append(rest, compact...)
	rest = append(rest, `,"sender":`...)
	rest, _ = jsontext.AppendQuote(rest, sender)
	return line{append(rest, "}\n"...), answered}, nil
}

// text is the whole line; an id of zero is left out.
func (l line) text(id uint64) []byte {
	text := append(make([]byte, 0, len(l.rest)+32), '{')
	if id > 0 {
		text = append(text, `"id":`...)
		text = strconv.AppendUint(text, id, 10)
		text = append(text, ',')
	}
	return append(text, l.rest...)
}

// answer is what the program wrote on a line.
type answer struct {
	hasID  bool
	id     uint64 // zero with hasID: an id that belongs to no call
	result jsontext.Value
	err    error
}

var errNotJSON = ahp.Errorf(jsonrpc.CodeInternal, "the program answered with a line that is not JSON")

// readAnswer reads a line.
func readAnswer(line []byte) answer {
	raw := jsontext.Value(line)
	if jsonrpc.Check(raw, jsonrpc.MaxDepth) != nil {
		return answer{err: errNotJSON}
	}
	result, hasResult := jsonrpc.Member(raw, "result")
	failure, hasError := jsonrpc.Member(raw, "error")
	if !hasResult && !hasError {
		return answer{result: raw}
	}
	a := answer{result: result}
	if hasError {
		a.err = readError(failure)
	}
	if id, ok := jsonrpc.Member(raw, "id"); ok {
		a.hasID = true
		a.id, _ = strconv.ParseUint(string(id), 10, 64)
	}
	return a
}

// readError reads an error of the program. Text is a message without a code.
func readError(raw jsontext.Value) error {
	if text, ok := jsonrpc.StringValue(raw); ok {
		return ahp.Errorf(jsonrpc.CodeInternal, "%s", text)
	}
	var e ahp.Error
	if err := ahp.Unmarshal(raw, &e); err != nil {
		return ahp.Errorf(jsonrpc.CodeInternal, "the program answered with an error of another form than {code, message, data}")
	}
	return &e
}

// errLineTooLong ends a program whose line has no end.
var errLineTooLong = errors.New("a line of the program is too long")
