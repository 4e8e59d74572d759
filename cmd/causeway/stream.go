package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
)

// stream prints a text that grows, each byte once. The output of a running
// command is shown by its end, so it may come cut at the front.
type stream struct {
	w        io.Writer
	errs     io.Writer
	terminal bool // show what can be shown at once, rather than exactly
	printed  string
	cut      bool // the text no longer begins with what was printed
	done     bool
}

// text prints what text has beyond what was printed.
func (s *stream) text(text string) {
	if rest, ok := strings.CutPrefix(text, s.printed); ok && !s.cut {
		s.write(rest)
		s.printed = text
		return
	}
	s.cut = true
	if s.terminal {
		s.write(text[overlap(s.printed, text):])
		s.printed = text
	}
}

func (s *stream) write(text string) {
	if text != "" {
		_, _ = io.WriteString(s.w, text) // a closed pipe ends the program by its signal
	}
}

// overlap is how many bytes at the front of text repeat the end of printed.
func overlap(printed, text string) int {
	const anchor = 64
	if tail := printed[max(0, len(printed)-anchor):]; len(tail) == anchor {
		if i := strings.LastIndex(text, tail); i >= 0 {
			return i + len(tail)
		}
	}
	for n := min(len(printed), len(text)); n > 0; n-- {
		if strings.HasSuffix(printed, text[:n]) {
			return n
		}
	}
	return 0
}

// call prints the output of a tool call, and at its end says what is missing.
func (s *stream) call(t *ahp.ToolCall) {
	if s.done {
		return
	}
	text := contentText(t.Content)
	if t.Status != ahp.ToolCompleted {
		if text != "" {
			s.text(text)
		}
		return
	}
	s.done = true
	omitted := omittedBytes(t)
	if omitted == 0 {
		s.finish(text)
		return
	}
	_, kept, _ := strings.Cut(text, "\n") // the first line says what is left out
	s.finish(kept)
	fmt.Fprintf(s.errs, "(%d bytes of output were left out before the last %d)\n", omitted, len(kept))
}

// finish prints the rest of a text that is complete at its end.
func (s *stream) finish(text string) {
	switch rest, ok := strings.CutPrefix(text, s.printed); {
	case ok:
		s.write(rest)
	case s.terminal || !s.cut:
		s.write(text[overlap(s.printed, text):])
	default: // what was printed stands somewhere before
		s.write(text[overlapAnywhere(s.printed, text):])
	}
	s.printed = text
}

// overlapAnywhere is the end of printed in text, 0 if it is not there.
func overlapAnywhere(printed, text string) int {
	if i := strings.Index(text, printed); i >= 0 {
		return i + len(printed)
	}
	return overlap(printed, text)
}

// contentText joins the text of a tool call's content.
func contentText(content []ahp.ToolResultContent) string {
	var b strings.Builder
	for _, c := range content {
		if c.Text != nil {
			b.WriteString(*c.Text)
		}
	}
	return b.String()
}

// omittedBytes is how much output an agent did not keep, as the shell agent says.
func omittedBytes(t *ahp.ToolCall) int64 {
	var details struct {
		OmittedBytes int64 `json:"omittedBytes"`
	}
	if json.Unmarshal(t.StructuredContent, &details) != nil {
		return 0
	}
	return details.OmittedBytes
}
