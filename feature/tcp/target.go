package tcp

import (
	"net/netip"
	"strings"
)

// target is where a client wants to go: an address or a name.
type target struct {
	addr netip.Addr // valid for an address, unmapped
	name string     // lower case, without a trailing dot
	port uint16
}

// String is the target without its port, for logs.
func (t target) String() string {
	if t.addr.IsValid() {
		return t.addr.String()
	}
	return t.name
}

// maxName and maxLabel are the limits of DNS in characters.
const (
	maxName  = 253
	maxLabel = 63
)

// parseTarget checks what a client asks for (AHP core, 13 "Create"): an address
// without a zone, or a name that nobody could take for an address.
func parseTarget(host string, port int) (target, bool) {
	if port < 1 || port > 65535 {
		return target{}, false
	}
	t := target{port: uint16(port)}
	if addr, err := netip.ParseAddr(host); err == nil {
		t.addr = addr.Unmap()
		return t, addr.Zone() == ""
	}
	var ok bool
	t.name, ok = normalName(host)
	return t, ok
}

// normalName reads a DNS name of letters, digits, hyphens and dots. One whose last
// label is a number is not a name: several systems read it as an address.
func normalName(text string) (string, bool) {
	if !isASCII(text) { // before lowering: there are letters that become ASCII
		return "", false
	}
	name := strings.TrimSuffix(strings.ToLower(text), ".")
	if name == "" || len(name) > maxName {
		return "", false
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return "", false
		}
		last = label
	}
	return name, !isNumeric(last)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

func isLabel(label string) bool {
	if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		if b := label[i]; (b < 'a' || b > 'z') && !isDigit(b) && b != '-' {
			return false
		}
	}
	return true
}

// isNumeric reports whether a label is a decimal or hexadecimal number.
func isNumeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	for i := range len(digits) {
		if b := digits[i]; !isDigit(b) && (!hex || b < 'a' || b > 'f') {
			return false
		}
	}
	return true
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
