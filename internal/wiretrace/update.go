package wiretrace

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// minNamedBytes is the length from which a string that equals a bound value is
// written as its name. Shorter ones are too often equal by chance.
const minNamedBytes = 8

// rewrite makes the outcomes of s what the clients saw.
func (p *player) rewrite(s *step) error {
	for _, c := range p.all() {
		received, ended := c.take()
		if errors.Is(ended, errFlood) {
			return fmt.Errorf("client %s: %w", c.name, ended)
		}
		p.rewriteMessages(s, c.name, received)
		if err := p.compareEnd(s, c, ended); err != nil {
			p.rewriteEnd(s, c.name, ended)
		}
		p.forget(c, ended != nil || s.endsClient(c.name))
	}
	return nil
}

func (p *player) rewriteMessages(s *step, name string, received [][]byte) {
	o := s.outcome(name, false)
	if o == nil {
		if len(received) == 0 {
			return
		}
		o = &outcome{header: "expect " + name, client: name}
		s.outcomes = append(s.outcomes, o)
	}
	var lines []line
	for _, r := range p.bound.align(o.messages, received) {
		if r.got != nil {
			lines = append(lines, p.rewriteRow(r))
		}
	}
	o.messages = lines
}

// rewriteRow keeps a line that matches and writes one for what was received.
func (p *player) rewriteRow(r row) line {
	if r.same() {
		return *r.want
	}
	got, err := parseValue(r.got)
	if err != nil { // cannot be expected, so let the next run fail visibly
		return line{remarks: fmt.Sprintf("# not JSON: %q\n", r.got), text: "null"}
	}
	if r.want == nil {
		return line{text: p.bound.name(got).String()}
	}
	return line{remarks: r.want.remarks, text: p.bound.merge(r.want.value, got).String()}
}

// rewriteEnd makes the closed section of name say how the connection ended, or
// removes it if it has not.
func (p *player) rewriteEnd(s *step, name string, ended error) {
	o := s.outcome(name, true)
	if ended == nil {
		s.outcomes = without(s.outcomes, o)
		return
	}
	if o == nil {
		o = &outcome{client: name, closed: true}
		s.outcomes = append(s.outcomes, o)
	}
	o.code, o.reason = closing(ended)
	o.header = strings.TrimSpace(fmt.Sprintf("closed %s %d %s", name, o.code, escapeDollars(o.reason)))
}

func without(s []*outcome, o *outcome) []*outcome {
	var kept []*outcome
	for _, other := range s {
		if other != o {
			kept = append(kept, other)
		}
	}
	return kept
}

// merge writes got as an expectation and keeps of want what still holds.
func (b *bindings) merge(want, got value) value {
	if b.match(want, got) == nil {
		return want
	}
	merged := value{kind: got.kind}
	switch {
	case want.kind != got.kind:
		return b.name(got)
	case got.kind == jsontext.KindBeginObject:
		for _, m := range got.members {
			merged.members = append(merged.members, b.mergeMember(want, m))
		}
	case got.kind == jsontext.KindBeginArray:
		for i, item := range got.items {
			if i < len(want.items) {
				item = b.merge(want.items[i], item)
			} else {
				item = b.name(item)
			}
			merged.items = append(merged.items, item)
		}
	default:
		return b.name(got)
	}
	return merged
}

// mergeMember finds the member of want whose name stands for that of got.
func (b *bindings) mergeMember(want value, got member) member {
	for _, m := range want.members {
		if name, err := b.expand(m.name); err == nil && name == got.name {
			return member{m.name, b.merge(m.value, got.value)}
		}
	}
	return member{b.nameText(got.name), b.name(got.value)}
}

// name writes v with the names of values that are bound.
func (b bindings) name(v value) value {
	named := value{kind: v.kind, text: v.text}
	if v.kind == jsontext.KindString {
		named.text = b.nameText(v.text)
	}
	for _, item := range v.items {
		named.items = append(named.items, b.name(item))
	}
	for _, m := range v.members {
		named.members = append(named.members, member{b.nameText(m.name), b.name(m.value)})
	}
	return named
}

// nameText writes s with the names of bound strings in it, longest first.
func (b bindings) nameText(s string) string {
	for _, name := range b.names(minNamedBytes) {
		before, after, found := strings.Cut(s, b[name].text)
		if found {
			return b.nameText(before) + reference(name, after) + b.nameText(after)
		}
	}
	return escapeDollars(s)
}

// reference writes name as a placeholder that the text behind it cannot change.
func reference(name, after string) string {
	short := "$" + name
	if parts, err := parseText(short + after); err == nil && parts[0].name == name {
		return short
	}
	return "${" + name + "}"
}

// escapeDollars doubles the dollars that begin a placeholder, or would if
// something came behind s.
func escapeDollars(s string) string {
	var b strings.Builder
	for i, r := range s {
		if b.WriteRune(r); r == '$' && (i+1 == len(s) || startsPlaceholder(s[i+1])) {
			b.WriteRune('$')
		}
	}
	return b.String()
}

// startsPlaceholder reports whether c gives a meaning to a dollar before it.
func startsPlaceholder(c byte) bool {
	letter := c|0x20 >= 'a' && c|0x20 <= 'z'
	return letter || c == '_' || c == '{' || c == '$'
}
