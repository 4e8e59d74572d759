package tcp

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Rule allows destinations. Its text is a name, an IP address, a network in CIDR
// notation or "*", then a colon and a port, a range of ports or "*"; addresses
// with colons stand in brackets: "db.internal:5432", "10.0.0.0/8:1-1023",
// "[fd00::/8]:*", "*:443".
//
// A name, and "*", allows ordinary addresses only. The special ranges (loopback,
// link-local, shared, multicast and so on) are allowed by an address or a network
// that lies within one of them.
type Rule struct {
	name     string       // lower case, without a trailing dot; "*" is any
	network  netip.Prefix // valid instead of a name
	from, to uint16
}

// ErrRule is the error of a rule that cannot be read.
var ErrRule = errors.New("not a rule of the form name|IP|CIDR:port|port-port|*")

// ParseRule reads a rule.
func ParseRule(text string) (Rule, error) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return Rule{}, fmt.Errorf("%q names no port: %w", text, ErrRule)
	}
	r := Rule{}
	var ok bool
	if r.from, r.to, ok = parsePorts(text[at+1:]); !ok {
		return Rule{}, fmt.Errorf("%q: a port is 1 to 65535, a range is low-high: %w", text, ErrRule)
	}
	if err := r.parseHost(text[:at]); err != nil {
		return Rule{}, fmt.Errorf("%q: %w", text, err)
	}
	return r, nil
}

func parsePorts(text string) (from, to uint16, ok bool) {
	if text == "*" {
		return 1, 65535, true
	}
	low, high, ranged := strings.Cut(text, "-")
	if !ranged {
		high = low
	}
	from, okFrom := parsePort(low)
	to, okTo := parsePort(high)
	return from, to, okFrom && okTo && from <= to
}

func parsePort(text string) (uint16, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && n > 0 && text[0] != '+'
}

func (r *Rule) parseHost(text string) error {
	inner, bracketed := strings.CutPrefix(text, "[")
	if bracketed {
		var closed bool
		if inner, closed = strings.CutSuffix(inner, "]"); !closed {
			return fmt.Errorf("a bracket is missing: %w", ErrRule)
		}
	}
	if text == "*" {
		r.name = text
		return nil
	}
	if network, ok := parseNetwork(inner); ok {
		if strings.Contains(inner, ":") != bracketed {
			return fmt.Errorf("addresses with colons, and only those, stand in brackets: %w", ErrRule)
		}
		r.network = network
		return nil
	}
	name, ok := normalName(text)
	if !ok {
		return fmt.Errorf("neither a name, an address nor a network: %w", ErrRule)
	}
	r.name = name
	return nil
}

// parseNetwork reads an address or a network. IPv4 in IPv6 form is the IPv4 one.
func parseNetwork(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), addr.Zone() == ""
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, false
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), true
}

// String is the rule as ParseRule reads it.
func (r Rule) String() string {
	host := r.name
	if r.network.IsValid() {
		host = r.network.String()
		if r.network.IsSingleIP() {
			host = r.network.Addr().String()
		}
		if r.network.Addr().Is6() {
			host = "[" + host + "]"
		}
	}
	switch {
	case r.from == 1 && r.to == 65535:
		return host + ":*"
	case r.from == r.to:
		return fmt.Sprintf("%s:%d", host, r.from)
	}
	return fmt.Sprintf("%s:%d-%d", host, r.from, r.to)
}
