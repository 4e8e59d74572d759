package acp

import (
	"errors"
	"regexp"
	"strings"
)

// name is how the agent is called in sentences.
func (s *session) name() string {
	if i := s.init.AgentInfo; i != nil {
		if i.Title != "" {
			return oneLine(i.Title)
		}
		if i.Name != "" {
			return oneLine(i.Name)
		}
	}
	return s.provider.opts.Name
}

// obituary says why the agent is gone. It may be asked after its end.
func (s *session) obituary() string {
	text := s.name() + " ended in the middle of the turn"
	cause := s.conn.why()
	switch {
	case errors.Is(cause, errLineTooLong), errors.Is(cause, errNoise), errors.Is(cause, errOutboxFull):
		return text + ": " + cause.Error()
	}
	if status := s.conn.peer.Status(); status != "" {
		text += " (" + status + ")"
	}
	if words := s.lastWords(); words != "" {
		text += ": " + words
	}
	return text
}

// lastWords are the last line of the agent's error output without what is secret, "" for
// none.
func (s *session) lastWords() string {
	words := s.conn.peer.LastWords()
	for _, token := range s.tokens {
		words = strings.ReplaceAll(words, string(token), token.String())
	}
	return redact(oneLine(words))
}

// What looks like a secret: a value behind a telling name, and a long word of
// letters and digits.
var (
	namedSecret = regexp.MustCompile(`(?i)((?:key|token|secret|password|authorization|bearer|cookie)["']?\s*[:= ]\s*["']?)[^\s"',;]{4,}`)
	longWord    = regexp.MustCompile(`[A-Za-z0-9_+/=-]{20,}`)
	hasDigit    = regexp.MustCompile(`[0-9]`)
)

// redact takes what looks like a secret out of a text of an agent's. Its error
// output is shown to everybody who sees the session.
func redact(text string) string {
	text = namedSecret.ReplaceAllString(text, "${1}…")
	return longWord.ReplaceAllStringFunc(text, func(word string) string {
		if hasDigit.MatchString(word) {
			return "…"
		}
		return word
	})
}
