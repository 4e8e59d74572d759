package wiretrace

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// bindings are the values that placeholders have taken so far.
type bindings map[string]value

func (b bindings) clone() bindings { return maps.Clone(b) }

// resolve returns the value p stands for, if it is bound.
func (b bindings) resolve(p placeholder) (value, bool, error) {
	v, bound := b[p.name]
	if !bound || p.add == "" {
		return v, bound, nil
	}
	n, ok := new(big.Int).SetString(v.text, 10)
	if !ok || v.kind != jsontext.KindNumber {
		return value{}, true, fmt.Errorf("placeholder %q is %v, not an integer to add to", p.name, v)
	}
	add, _ := new(big.Int).SetString(p.add, 10) // digits by syntax
	return value{kind: jsontext.KindNumber, text: n.Add(n, add).String()}, true, nil
}

// take lets p meet v: the first time it is bound, later it must be equal.
func (b bindings) take(p placeholder, v value) error {
	if !kinds[p.kind](v) {
		return fmt.Errorf("got %v for %q, want kind %s", v, p.name, p.kind)
	}
	if p.name == anyName {
		return nil
	}
	old, bound, err := b.resolve(p)
	switch {
	case err != nil:
		return err
	case bound && !equal(old, v):
		return fmt.Errorf("got %v, want %v as %q", v, old, p.name)
	case !bound && p.add != "":
		return fmt.Errorf("got %v for %q, which has no value to add to", v, p.name)
	case !bound:
		b[p.name] = v
	}
	return nil
}

// takeText lets the placeholders of a longer string meet their parts of got.
func (b bindings) takeText(parts []part, got string) error {
	pattern, groups, err := b.pattern(parts)
	if err != nil {
		return err
	}
	found := pattern.FindStringSubmatch(got)
	if found == nil {
		return fmt.Errorf("got %q, want text like %s", got, pattern)
	}
	for i, p := range groups {
		v := value{kind: jsontext.KindString, text: found[i+1]}
		if p.kind == "number" {
			v.kind = jsontext.KindNumber
		}
		p.kind = "" // the pattern has seen to it
		if err := b.take(p, v); err != nil {
			return err
		}
	}
	return nil
}

// pattern makes a regular expression of parts, with a group for each
// placeholder that has no value yet.
func (b bindings) pattern(parts []part) (*regexp.Regexp, []placeholder, error) {
	var groups []placeholder
	var s strings.Builder
	s.WriteString(`(?s)^`)
	for _, p := range parts {
		v, bound, err := b.resolve(p.placeholder)
		switch {
		case err != nil:
			return nil, nil, err
		case p.name == "":
			s.WriteString(regexp.QuoteMeta(p.literal))
		case bound:
			s.WriteString(regexp.QuoteMeta(v.plain()))
		case inText[p.kind] == "":
			return nil, nil, fmt.Errorf("placeholder %q of kind %q inside a string", p.name, p.kind)
		default:
			s.WriteString(`(` + inText[p.kind] + `)`)
			groups = append(groups, p.placeholder)
		}
	}
	s.WriteString(`$`)
	re, err := regexp.Compile(s.String())
	return re, groups, err
}

// plain returns a string without quotes and everything else as JSON.
func (v value) plain() string {
	if v.kind == jsontext.KindString {
		return v.text
	}
	return v.String()
}

// expand replaces the placeholders of s by their values as plain text.
func (b bindings) expand(s string) (string, error) { return b.replace(s, false) }

// expandJSON replaces the placeholders of a text that is JSON, or broken on
// purpose. One that fills a string is replaced together with the quotes.
func (b bindings) expandJSON(s string) (string, error) { return b.replace(s, true) }

func (b bindings) replace(s string, json bool) (string, error) {
	parts, err := parseText(s)
	if err != nil {
		return "", err
	}
	var out []byte
	for i, p := range parts {
		if p.name == "" {
			out = append(out, p.literal...)
			continue
		}
		v, bound, err := b.resolve(p.placeholder)
		switch {
		case err != nil:
			return "", err
		case !bound:
			return "", fmt.Errorf("placeholder %q has no value yet (write $$ for a dollar)", p.name)
		case json && fillsString(parts, i):
			out = v.appendTo(out[:len(out)-1])
			parts[i+1].literal = parts[i+1].literal[1:]
		case json && v.kind == jsontext.KindString:
			quoted := appendString(nil, v.text)
			out = append(out, quoted[1:len(quoted)-1]...)
		default:
			out = append(out, v.plain()...)
		}
	}
	return string(out), nil
}

// fillsString reports whether part i stands alone between two quotes.
func fillsString(parts []part, i int) bool {
	if i == 0 || i == len(parts)-1 {
		return false
	}
	before, after := parts[i-1].literal, parts[i+1].literal
	return strings.HasSuffix(before, `"`) && !strings.HasSuffix(before, `\"`) && strings.HasPrefix(after, `"`)
}

// names returns the names bound to strings of at least n bytes, those with the
// longest values first and then by name.
func (b bindings) names(n int) []string {
	var names []string
	for name, v := range b {
		if v.kind == jsontext.KindString && len(v.text) >= n {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		if d := len(b[y].text) - len(b[x].text); d != 0 {
			return d
		}
		return strings.Compare(x, y)
	})
	return names
}
