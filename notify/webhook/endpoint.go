package webhook

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURLBytes bounds an endpoint (notifications, 7.1.3).
const maxURLBytes = 2048

var errEndpoint = errors.New("not a usable endpoint")

// address is an endpoint taken apart.
type address struct {
	url     *url.URL
	host    string // lower case, without port
	port    string
	literal bool // the host is an IP address, in whatever notation
}

// parseEndpoint takes an endpoint apart and refuses what no rule could allow.
func parseEndpoint(text string) (address, error) {
	if len(text) > maxURLBytes || strings.ContainsRune(text, '#') || strings.ContainsFunc(text, unprintable) {
		return address{}, errEndpoint
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Opaque != "" || (u.Scheme != "https" && u.Scheme != "http") {
		return address{}, errEndpoint
	}
	a := address{url: u, host: strings.ToLower(u.Hostname()), port: u.Port()}
	if a.port == "" {
		a.port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	if n, err := strconv.Atoi(a.port); err != nil || n < 1 || n > 65535 {
		return address{}, errEndpoint
	}
	a.literal = looksNumeric(a.host)
	if !a.literal && !validName(a.host) || dotted(u.EscapedPath()) {
		return address{}, errEndpoint
	}
	return a, nil
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// looksNumeric reports whether a host is an IP address in any notation that some
// resolver understands: its last label is a number, decimal or hexadecimal.
func looksNumeric(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	if rest, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// validName wants a DNS name in ASCII; other scripts come in their xn-- form.
func validName(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		ok := label != "" && len(label) <= 63 && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" &&
			label[0] != '-' && label[len(label)-1] != '-'
		if !ok {
			return false
		}
	}
	return true
}

// dotted reports whether a path has segments that climb, encoded or not.
func dotted(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "." || plain == ".." {
			return true
		}
	}
	return false
}

// target is what limits are kept for.
func (a *address) target() string {
	return a.url.Scheme + "://" + net.JoinHostPort(a.host, a.port)
}

// scope is what one proof of ownership covers: the endpoint without its query.
func (a *address) scope() string { return a.target() + a.url.EscapedPath() }

// show is the endpoint without what may be secret.
func show(endpoint string) string {
	a, err := parseEndpoint(endpoint)
	if err != nil {
		return "(not a URL)"
	}
	text := a.url.Scheme + "://" + a.url.Host + a.url.EscapedPath()
	if a.url.RawQuery != "" {
		text += "?…"
	}
	return text
}
