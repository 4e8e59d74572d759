package shell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter cuts a line into words.
type splitter struct {
	rest  string
	words []string
}

// splitWords cuts a line into the words a shell would see. It refuses whatever
// a shell does not take literally: variables, substitutions, globs, escapes,
// redirections, several commands, comments. Quotes are understood as long as
// nothing inside them is special.
func splitWords(line string) (words []string, ok bool) {
	if !utf8.ValidString(line) {
		return nil, false
	}
	s := splitter{rest: line}
	for {
		s.rest = strings.TrimLeft(s.rest, " \t")
		if s.rest == "" {
			return s.words, len(s.words) > 0
		}
		if s.rest[0] == '~' || !s.word() {
			return nil, false
		}
	}
}

// word takes a word off the rest.
func (s *splitter) word() bool {
	var word strings.Builder
	for s.rest != "" && s.rest[0] != ' ' && s.rest[0] != '\t' {
		piece, ok := s.piece()
		if !ok {
			return false
		}
		word.WriteString(piece)
	}
	s.words = append(s.words, word.String())
	return true
}

// piece takes a quoted piece or one plain character off the rest.
func (s *splitter) piece() (string, bool) {
	r, n := utf8.DecodeRuneInString(s.rest)
	if r == '\'' || r == '"' {
		return s.quoted(s.rest[:n])
	}
	piece := s.rest[:n]
	s.rest = s.rest[n:]
	return piece, plain(r)
}

func (s *splitter) quoted(quote string) (string, bool) {
	text, rest, found := strings.Cut(s.rest[1:], quote)
	s.rest = rest
	if !found || strings.ContainsFunc(text, unicode.IsControl) {
		return "", false
	}
	return text, quote == "'" || !strings.ContainsAny(text, "$`\\")
}

// plain reports whether a shell takes an unquoted character literally. Beyond
// ASCII it always does, but a blank that only looks like a separator would
// mislead the reader.
func plain(r rune) bool {
	if r >= utf8.RuneSelf {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r)
	}
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("_-./,:@%+=^~", r)
}
