package webhook

import (
	"fmt"
	"strings"
)

// Rule is an operator's leave to deliver to URLs that begin with a prefix: of
// any scheme, port and address, loopback included, and without further proof
// that the endpoint wants it.
type Rule struct {
	text    string
	target  string
	exact   string // escaped path
	subtree string // escaped path with a slash at its end
}

// ParseRule reads a URL prefix such as https://hooks.example.com/causeway. Scheme,
// host and port must be equal, the path must begin with whole segments.
func ParseRule(prefix string) (Rule, error) {
	a, err := parseEndpoint(prefix)
	if err != nil || a.url.RawQuery != "" || a.url.ForceQuery {
		return Rule{}, fmt.Errorf("%q is not a URL prefix such as https://hooks.example.com/path (no user, query or fragment)", prefix)
	}
	path := strings.TrimSuffix(a.url.EscapedPath(), "/")
	return Rule{text: prefix, target: a.target(), exact: path, subtree: path + "/"}, nil
}

// String returns the prefix.
func (r Rule) String() string { return r.text }

func (r Rule) allows(a *address) bool {
	path := a.url.EscapedPath()
	return a.target() == r.target && (path == r.exact || strings.HasPrefix(path, r.subtree))
}
