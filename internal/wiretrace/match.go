package wiretrace

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// match compares got with want, which may hold placeholders. Placeholders are
// bound only if everything matches. The error says where the first difference
// is, as a JSON pointer.
func (b *bindings) match(want, got value) error {
	trial := b.clone()
	if err := trial.matchAt("", want, got); err != nil {
		return err
	}
	*b = trial
	return nil
}

func differ(path, format string, args ...any) error {
	if path == "" {
		path = "/"
	}
	return fmt.Errorf("at %s: %w", path, fmt.Errorf(format, args...))
}

func (b bindings) matchAt(path string, want, got value) error {
	if want.kind == jsontext.KindString {
		return b.matchString(path, want.text, got)
	}
	switch {
	case want.kind != got.kind:
		return differ(path, "got %v, want %v", got, want)
	case want.kind == jsontext.KindBeginObject:
		return b.matchMembers(path, want, got)
	case want.kind == jsontext.KindBeginArray:
		return b.matchItems(path, want, got)
	case !equal(want, got):
		return differ(path, "got %v, want %v", got, want)
	}
	return nil
}

func (b bindings) matchString(path, want string, got value) error {
	parts, err := parseText(want)
	if err != nil {
		return differ(path, "%w", err)
	}
	switch {
	case len(parts) == 1 && parts[0].name != "":
		err = b.take(parts[0].placeholder, got)
	case got.kind != jsontext.KindString:
		err = fmt.Errorf("got %v, want a string like %q", got, want)
	default:
		err = b.takeText(parts, got.text)
	}
	if err != nil {
		return differ(path, "%w", err)
	}
	return nil
}

// matchReason compares a closing reason.
func (b *bindings) matchReason(want, got string) error {
	text := func(s string) value { return value{kind: jsontext.KindString, text: s} }
	return b.match(text(want), text(got))
}

func (b bindings) matchItems(path string, want, got value) error {
	if len(want.items) != len(got.items) {
		return differ(path, "got %d items, want %d", len(got.items), len(want.items))
	}
	for i := range want.items {
		if err := b.matchAt(fmt.Sprintf("%s/%d", path, i), want.items[i], got.items[i]); err != nil {
			return err
		}
	}
	return nil
}

// matchMembers pairs members by name. Names that are known come first; a name
// with an unbound placeholder then takes the first member left that fits it.
func (b bindings) matchMembers(path string, want, got value) error {
	left := append([]member(nil), got.members...)
	var open []member
	for _, m := range want.members {
		name, err := b.expand(m.name)
		if err != nil {
			open = append(open, m)
			continue
		}
		if left, err = b.matchMember(path, left, name, m.value); err != nil {
			return err
		}
	}
	for _, m := range open {
		var ok bool
		if left, ok = b.matchOpenMember(left, m); !ok {
			return differ(path+pointer(m.name), "member missing")
		}
	}
	if len(left) > 0 {
		return differ(path+pointer(left[0].name), "unexpected member %v", left[0].value)
	}
	return nil
}

// matchMember matches the member called name and returns the others.
func (b bindings) matchMember(path string, left []member, name string, want value) ([]member, error) {
	path += pointer(name)
	for i, m := range left {
		if m.name == name {
			return append(left[:i], left[i+1:]...), b.matchAt(path, want, m.value)
		}
	}
	return left, differ(path, "member missing, want %v", want)
}

// matchOpenMember matches the first member that fits name and value.
func (b bindings) matchOpenMember(left []member, want member) ([]member, bool) {
	for i, m := range left {
		trial := b.clone()
		name := value{kind: jsontext.KindString, text: m.name}
		if trial.matchString("", want.name, name) != nil || trial.matchAt("", want.value, m.value) != nil {
			continue
		}
		for name, v := range trial {
			b[name] = v
		}
		return append(left[:i], left[i+1:]...), true
	}
	return left, false
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointer(name string) string { return "/" + pointerEscapes.Replace(name) }
