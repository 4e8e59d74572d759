package mcp

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
)

// event is one event of a text/event-stream.
type event struct {
	id    string
	name  string // "" is message
	retry string
	data  []byte
}

// message reports whether the event carries a message of MCP.
func (e event) message() bool { return len(e.data) > 0 && (e.name == "" || e.name == "message") }

// writeTo writes the event as a frame.
func (e event) writeTo(w io.Writer) error {
	var b bytes.Buffer
	for _, f := range [][2]string{{"event", e.name}, {"id", e.id}, {"retry", e.retry}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", f[0], f[1])
		}
	}
	for line := range bytes.SplitSeq(e.data, []byte{'\n'}) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// maxEventBytes bounds one event of a server.
const maxEventBytes = 64 << 20

// eventParser cuts a stream into events, however it comes in pieces. Comments are
// left out.
type eventParser struct {
	max     int // bytes of an event; 0: maxEventBytes
	line    []byte
	afterCR bool // a line feed that follows belongs to the carriage return
	current event
	any     bool // the event has a field
	data    bool // it has a line of data
	size    int
}

// feed reads the next piece and calls emit for each event that is complete.
func (p *eventParser) feed(piece []byte, emit func(event)) error {
	for len(piece) > 0 {
		if p.afterCR && piece[0] == '\n' {
			piece = piece[1:]
		}
		p.afterCR = false
		end := lineEnd(piece)
		if end < 0 {
			p.line = append(p.line, piece...)
			return p.grow(len(piece))
		}
		p.line = append(p.line, piece[:end]...)
		if err := p.grow(end); err != nil {
			return err
		}
		p.afterCR = piece[end] == '\r'
		piece = piece[end+1:]
		p.endLine(emit)
	}
	return nil
}

// lineEnd is the index of the first carriage return or line feed, -1 if there is none.
func lineEnd(piece []byte) int {
	end := bytes.IndexByte(piece, '\n')
	if end < 0 {
		return bytes.IndexByte(piece, '\r')
	}
	if cr := bytes.IndexByte(piece[:end], '\r'); cr >= 0 {
		return cr
	}
	return end
}

func (p *eventParser) grow(n int) error {
	limit := cmp.Or(p.max, maxEventBytes)
	if p.size += n; p.size > limit {
		return fmt.Errorf("an event of the server is longer than %d bytes", limit)
	}
	return nil
}

// endLine takes a complete line; an empty one ends the event.
func (p *eventParser) endLine(emit func(event)) {
	line := p.line
	p.line = p.line[:0]
	if len(line) == 0 {
		if p.any {
			emit(p.current)
		}
		p.current, p.any, p.data, p.size = event{}, false, false, 0
		return
	}
	name, value, _ := strings.Cut(string(line), ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "data":
		if p.data {
			p.current.data = append(p.current.data, '\n')
		}
		p.data = true
		p.current.data = append(p.current.data, value...)
	case "event":
		p.current.name = value
	case "id":
		p.current.id = value
	case "retry":
		p.current.retry = value
	default: // a comment, or a field of the future
		return
	}
	p.any = true
}
