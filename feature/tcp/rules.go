package tcp

import "net/netip"

// Rules are the destinations somebody may reach: those that one of them allows.
// They are not changed once in use.
type Rules []Rule

// Loopback allows the machine's own loopback addresses and nothing else: what a
// host allows when it is told nothing.
func Loopback() Rules {
	return Rules{
		{network: netip.MustParsePrefix("127.0.0.0/8"), from: 1, to: 65535},
		{network: netip.MustParsePrefix("::1/128"), from: 1, to: 65535},
	}
}

// allow reports whether a connection to addr may be made for a client that asked
// for name, which is "" when it asked for an address.
func (rs Rules) allow(name string, addr netip.Addr, port uint16) bool {
	if addr.Zone() != "" || port == 0 {
		return false
	}
	addr = addr.Unmap()
	for _, r := range rs {
		if r.from <= port && port <= r.to && r.allows(name, addr) {
			return true
		}
	}
	return false
}

// mayAllow reports whether some address could be allowed for the name, so that
// nothing is looked up in vain.
func (rs Rules) mayAllow(name string, port uint16) bool {
	for _, r := range rs {
		if r.from <= port && port <= r.to && (r.network.IsValid() || r.named(name)) {
			return true
		}
	}
	return false
}

func (r Rule) named(name string) bool { return r.name == "*" || r.name != "" && r.name == name }

// allows ignores the port. Addr is unmapped.
func (r Rule) allows(name string, addr netip.Addr) bool {
	within, isSpecial := rangeOf(addr)
	if !r.network.IsValid() {
		return !isSpecial && r.named(name)
	}
	if !r.network.Contains(addr) {
		return false
	}
	if !isSpecial {
		return true
	}
	if r.network.Bits() < within.Bits() { // too wide to mean this range
		return false
	}
	inner, has := carried(addr)
	if !has || r.network.IsSingleIP() {
		return true
	}
	_, innerSpecial := rangeOf(inner)
	return !innerSpecial
}
