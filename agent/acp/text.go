package acp

import (
	"strings"
	"unicode/utf8"
)

// Bounds of what is told of an agent, in bytes.
const (
	maxPieceBytes  = 64 << 10  // of text in one event
	maxShownBytes  = 64 << 10  // of text in one piece of a tool call, from its end
	maxInputBytes  = 64 << 10  // of a tool call's input, from its beginning
	maxStructBytes = 256 << 10 // of structured content
	maxInlineBytes = 256 << 10 // of content that stands in the state itself
	maxLabelBytes  = 1 << 10   // of names and titles
)

// cutRunes splits text after at most n bytes, between two characters.
func cutRunes(text string, n int) (head, rest string) {
	if len(text) <= n {
		return text, ""
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], text[n:]
}

// beginning is the beginning of text, marked where it was cut.
func beginning(text string, n int) string {
	head, rest := cutRunes(text, n)
	if rest != "" {
		head += "…"
	}
	return head
}

// ending is the end of text, with a line that says what is missing before it.
func ending(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return leftOut(at) + text[at:]
}

// oneLine is the beginning of text on one line.
func oneLine(text string) string {
	return beginning(strings.Join(strings.Fields(text), " "), maxLabelBytes)
}
