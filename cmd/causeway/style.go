package main

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// style colours text on a terminal, and leaves it alone elsewhere and where
// NO_COLOR is set.
type style struct {
	on    bool // w is a terminal
	color bool
}

func styleOf(w io.Writer) style {
	f, ok := w.(*os.File)
	on := ok && term.IsTerminal(int(f.Fd()))
	return style{on: on, color: on && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string   { return s.paint("1", text) }
func (s style) dim(text string) string    { return s.paint("2", text) }
func (s style) red(text string) string    { return s.paint("31", text) }
func (s style) green(text string) string  { return s.paint("32", text) }
func (s style) yellow(text string) string { return s.paint("33", text) }
func (s style) cyan(text string) string   { return s.paint("36", text) }

// printable replaces what could steer a terminal: other people's text is shown,
// not obeyed.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// oneLine is the beginning of a text on one printable line, of at most max
// characters.
func oneLine(text string, max int) string {
	runes := []rune(printable(strings.Join(strings.Fields(text), " ")))
	if len(runes) > max {
		return string(runes[:max-1]) + "…"
	}
	return string(runes)
}
