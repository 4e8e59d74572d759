package wiretrace

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// anyName is the placeholder that matches everything and is never bound.
const anyName = "any"

// placeholder is one $name or ${name:kind} or ${name+1}.
type placeholder struct {
	name string
	kind string // "" is any
	add  string // digits, or ""
}

// part is a piece of a text: literal, or a placeholder if that has a name.
type part struct {
	literal string
	placeholder
}

var placeholderSyntax = regexp.MustCompile(
	`\$\$|\$([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)(?::([a-z]+)|\+(\d+))?\}|\$\{`)

// parseText cuts s at its placeholders. It fails at ${ that begins none.
func parseText(s string) ([]part, error) {
	var parts []part
	end := 0
	for _, at := range placeholderSyntax.FindAllStringSubmatchIndex(s, -1) {
		if at[0] > end {
			parts = append(parts, part{literal: s[end:at[0]]})
		}
		end = at[1]
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return s[at[2*i]:at[2*i+1]]
		}
		p := placeholder{name: group(1) + group(2), kind: group(3), add: group(4)}
		switch {
		case p.name != "":
			if err := p.check(); err != nil {
				return nil, err
			}
			parts = append(parts, part{placeholder: p})
		case s[at[0]:at[1]] == "$$":
			parts = append(parts, part{literal: "$"})
		default:
			return nil, fmt.Errorf("malformed placeholder at %q", s[at[0]:])
		}
	}
	if end < len(s) {
		parts = append(parts, part{literal: s[end:]})
	}
	return parts, nil
}

func (p placeholder) check() error {
	if _, known := kinds[p.kind]; !known {
		return fmt.Errorf("placeholder %q: unknown kind %q", p.name, p.kind)
	}
	if p.name == anyName && p.add != "" {
		return errors.New("placeholder \"any\" has no value to add to")
	}
	return nil
}

const uuidSyntax = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var uuid = regexp.MustCompile(`^` + uuidSyntax + `$`)

// kinds says which values a placeholder of each kind takes.
var kinds = map[string]func(value) bool{
	"":       func(value) bool { return true },
	"string": func(v value) bool { return v.kind == jsontext.KindString },
	"number": func(v value) bool { return v.kind == jsontext.KindNumber },
	"bool":   func(v value) bool { return v.kind == jsontext.KindTrue || v.kind == jsontext.KindFalse },
	"object": func(v value) bool { return v.kind == jsontext.KindBeginObject },
	"array":  func(v value) bool { return v.kind == jsontext.KindBeginArray },
	"uuid":   func(v value) bool { return v.kind == jsontext.KindString && uuid.MatchString(v.text) },
	"time": func(v value) bool {
		_, err := time.Parse(time.RFC3339, v.text)
		return v.kind == jsontext.KindString && err == nil
	},
}

// inText says what a placeholder of each kind takes inside a longer string.
var inText = map[string]string{
	"": `.+?`, "string": `.+?`, "uuid": uuidSyntax, "number": `-?\d+`, "bool": `true|false`,
	"time": `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`,
}
