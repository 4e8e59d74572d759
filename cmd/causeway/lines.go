package main

import "strings"

// lines cuts what is written into lines, so that several sources can share a
// terminal.
type lines struct {
	print func(line string)
	seen  int // bytes of a growing text that were taken
	rest  string
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.rest += string(b)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			return len(b), nil
		}
		l.print(line)
		l.rest = rest
	}
}

// text takes what a growing text has beyond what was taken.
func (l *lines) text(text string) {
	if len(text) > l.seen {
		_, _ = l.Write([]byte(text[l.seen:]))
		l.seen = len(text)
	}
}

// flush prints a last line without an end.
func (l *lines) flush() {
	if l.rest != "" {
		l.print(l.rest)
		l.rest = ""
	}
}
