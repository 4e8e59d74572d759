package jsonrpc

import "github.com/go-json-experiment/json/jsontext"

// The functions here read text that [Scan] or a JSON decoder has accepted.
// They do not validate: on other text they may find nothing or the wrong
// thing, but they do not panic.

// Member returns the value of the first member of obj that is called name,
// without surrounding space and aliasing obj. It is false when there is none
// or obj is not an object. A decoder that refuses duplicate names, as ours
// does, agrees with it on which member is meant.
func Member(obj jsontext.Value, name string) (jsontext.Value, bool) {
	i := openObject(obj)
	for i >= 0 {
		raw, value, next := member(obj, i)
		if value == nil {
			return nil, false
		}
		if sameText(raw, name) {
			return value, true
		}
		i = next
	}
	return nil, false
}

// EachMember calls visit for each member of obj in order until it returns
// false. Value aliases obj; name is decoded, aliases obj unless it was escaped,
// and must not be kept or written to.
func EachMember(obj jsontext.Value, visit func(name []byte, value jsontext.Value) bool) {
	i := openObject(obj)
	for i >= 0 {
		raw, value, next := member(obj, i)
		if value == nil || !visit(plainText(raw), value) {
			return
		}
		i = next
	}
}

// StringValue returns the text of a JSON string, and false for any other
// value. Lone surrogates read as U+FFFD.
func StringValue(raw jsontext.Value) (string, bool) {
	text, ok := StringBytes(raw)
	return string(text), ok
}

// StringBytes is [StringValue] without the copy: the result aliases raw unless
// it was escaped, and must not be written to. It suits map look-ups.
func StringBytes(raw jsontext.Value) ([]byte, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	return plainText(raw[1 : len(raw)-1]), true
}

// plainText decodes the body of a string.
func plainText(body []byte) []byte {
	if !hasEscape(body) {
		return body
	}
	return appendUnescaped(nil, body, replaceSurrogates)
}

// sameText reports whether the body of a string stands for text.
func sameText(body []byte, text string) bool {
	if string(body) == text {
		return !hasEscape(body)
	}
	return len(body) > len(text) && hasEscape(body) && string(plainText(body)) == text
}

// openObject returns the index of the first name in obj, or badSyntax.
func openObject(obj []byte) int {
	i := skipSpace(obj, 0)
	if i >= len(obj) || obj[i] != '{' {
		return badSyntax
	}
	return skipSpace(obj, i+1)
}

// member returns the name (its body, undecoded) and the value of the member at
// i, and the index of the next one, which is badSyntax after the last. The
// value is nil when there is no member.
func member(obj []byte, i int) (name []byte, value jsontext.Value, next int) {
	if i >= len(obj) || obj[i] != '"' {
		return nil, nil, badSyntax
	}
	end := stringEnd(obj, i+1)
	if end < 0 {
		return nil, nil, badSyntax
	}
	name = obj[i+1 : end-1]
	start := skipSpace(obj, skipSpace(obj, end)+1)
	end = valueEnd(obj, start)
	if end < 0 {
		return nil, nil, badSyntax
	}
	next = skipSpace(obj, end)
	if next >= len(obj) || obj[next] != ',' {
		return name, obj[start:end], badSyntax
	}
	return name, obj[start:end], skipSpace(obj, next+1)
}

// valueEnd returns the index after the value at i, or badSyntax.
func valueEnd(data []byte, i int) int {
	if i >= len(data) {
		return badSyntax
	}
	switch data[i] {
	case '"':
		return stringEnd(data, i+1)
	case '{', '[':
		return containerEnd(data, i+1)
	}
	start := i
	for i < len(data) && data[i] != ',' && data[i] != '}' && data[i] != ']' && !isSpace(data[i]) {
		i++
	}
	if i == start {
		return badSyntax
	}
	return i
}

// containerEnd returns the index after the container whose opening byte is
// before i.
func containerEnd(data []byte, i int) int {
	for open := 1; i < len(data); {
		switch data[i] {
		case '"':
			if i = stringEnd(data, i+1); i < 0 {
				return badSyntax
			}
			continue
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				return i + 1
			}
		}
		i++
	}
	return badSyntax
}
