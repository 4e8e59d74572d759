package jsonrpc

// Bounds of one message (AHP core, 17, 20). The envelope is the first level,
// and every value counts: containers, members' values, elements.
const (
	MaxDepth  = 128
	MaxValues = 1_000_000
)

// Results of a check that did not end after a value. They share the type of
// the index that a successful check returns, which keeps the hot path in
// registers.
const (
	badSyntax = -1 - iota
	tooDeep
	tooMany
)

// checker validates values by RFC 8259. Its methods take the index of the
// first byte and return the index after the last, or one of the negative
// results above. Recursion is bounded by MaxDepth.
type checker struct {
	data []byte
	left int // values that may still come
	last int // where the last member's value began in the last object on the second level
}

// value checks the value at i, which lies below depth containers.
func (c *checker) value(i, depth int) int {
	if i >= len(c.data) {
		return badSyntax
	}
	if c.left--; c.left < 0 {
		return tooMany
	}
	switch c.data[i] {
	case '"':
		return checkString(c.data, i+1)
	case '{':
		return c.object(i+1, depth+1)
	case '[':
		return c.array(i+1, depth+1)
	case 't':
		return checkLiteral(c.data, i, "true")
	case 'f':
		return checkLiteral(c.data, i, "false")
	case 'n':
		return checkLiteral(c.data, i, "null")
	default:
		return checkNumber(c.data, i)
	}
}

// object checks what follows an opening brace.
func (c *checker) object(i, depth int) int {
	if depth > MaxDepth {
		return tooDeep
	}
	i = skipSpace(c.data, i)
	if i < len(c.data) && c.data[i] == '}' {
		return i + 1
	}
	for {
		if i = c.name(i); i < 0 {
			return i
		}
		if i = c.colon(i); i < 0 {
			return i
		}
		start := i
		if i = c.value(i, depth); i < 0 {
			return i
		}
		var done bool
		if i, done = c.next(i, '}'); done || i < 0 {
			if depth == 2 {
				c.last = start
			}
			return i
		}
	}
}

// array checks what follows an opening bracket.
func (c *checker) array(i, depth int) int {
	if depth > MaxDepth {
		return tooDeep
	}
	i = skipSpace(c.data, i)
	if i < len(c.data) && c.data[i] == ']' {
		return i + 1
	}
	for {
		if i = c.value(i, depth); i < 0 {
			return i
		}
		var done bool
		if i, done = c.next(i, ']'); done || i < 0 {
			return i
		}
	}
}

// name checks a member's name.
func (c *checker) name(i int) int {
	if i >= len(c.data) || c.data[i] != '"' {
		return badSyntax
	}
	return checkString(c.data, i+1)
}

// colon checks the colon after a name and returns where the value begins.
func (c *checker) colon(i int) int {
	i = skipSpace(c.data, i)
	if i >= len(c.data) || c.data[i] != ':' {
		return badSyntax
	}
	return skipSpace(c.data, i+1)
}

// next checks what follows a member or an element: a comma, after which it
// returns where the next one begins, or the closing byte.
func (c *checker) next(i int, closing byte) (after int, done bool) {
	i = skipSpace(c.data, i)
	if i >= len(c.data) {
		return badSyntax, false
	}
	switch c.data[i] {
	case ',':
		return skipSpace(c.data, i+1), false
	case closing:
		return i + 1, true
	default:
		return badSyntax, false
	}
}

func checkLiteral(data []byte, i int, want string) int {
	if end := i + len(want); end <= len(data) && string(data[i:end]) == want {
		return end
	}
	return badSyntax
}

func checkNumber(data []byte, i int) int {
	if i < len(data) && data[i] == '-' {
		i++
	}
	start := i
	i = skipDigits(data, i)
	if i == start || data[start] == '0' && i > start+1 {
		return badSyntax
	}
	if i < len(data) && data[i] == '.' {
		start = i + 1
		if i = skipDigits(data, start); i == start {
			return badSyntax
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		return checkExponent(data, i+1)
	}
	return i
}

func checkExponent(data []byte, i int) int {
	if i < len(data) && (data[i] == '+' || data[i] == '-') {
		i++
	}
	start := i
	if i = skipDigits(data, i); i == start {
		return badSyntax
	}
	return i
}

func skipDigits(data []byte, i int) int {
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }
