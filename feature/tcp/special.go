package tcp

import "net/netip"

// special are the ranges that lead somewhere else than their number says, or to
// what only this machine or its cloud should reach. A name never leads there.
var special = prefixes(
	"0.0.0.0/8",       // "this network": several systems connect to loopback
	"100.64.0.0/10",   // shared address space; a cloud's metadata among it
	"127.0.0.0/8",     // loopback
	"168.63.129.16",   // a cloud's metadata
	"169.254.0.0/16",  // link-local; most clouds' metadata among it
	"192.0.0.0/24",    // protocol assignments; a cloud's metadata among it
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // relays of 6to4
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, and broadcast

	"::/96",           // unspecified, loopback, IPv4-compatible
	"::ffff:0:0:0/96", // IPv4-translated
	"64:ff9b::/96",    // NAT64
	"64:ff9b:1::/48",  // NAT64, local use
	"100::/64",        // discard
	"2001::/23",       // protocol assignments; Teredo among it
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4
	"3fff::/20",       // documentation
	"5f00::/16",       // segment routing
	"fd00:ec2::254",   // a cloud's metadata
	"fd20:ce::254",    // a cloud's metadata
	"fe80::/10",       // link-local
	"fec0::/10",       // site-local
	"ff00::/8",        // multicast
)

// carriers are the ranges of IPv6 addresses that hold an IPv4 one, at that byte.
var carriers = []struct {
	network  netip.Prefix
	at       int
	inverted bool
}{
	{netip.MustParsePrefix("::/96"), 12, false},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, false},
	{netip.MustParsePrefix("64:ff9b::/96"), 12, false},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12, false},
	{netip.MustParsePrefix("2001::/32"), 12, true},
	{netip.MustParsePrefix("2002::/16"), 2, false},
}

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		p, ok := parseNetwork(text)
		if !ok {
			panic("not a network: " + text)
		}
		list = append(list, p)
	}
	return list
}

// rangeOf returns the special range an address lies in.
func rangeOf(addr netip.Addr) (netip.Prefix, bool) {
	for _, p := range special {
		if p.Contains(addr) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// carried returns the IPv4 address inside an IPv6 one.
func carried(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return addr, false
	}
	b := addr.As16()
	for _, c := range carriers {
		if !c.network.Contains(addr) {
			continue
		}
		v4 := [4]byte(b[c.at : c.at+4])
		if c.inverted {
			for i := range v4 {
				v4[i] ^= 0xff
			}
		}
		return netip.AddrFrom4(v4), true
	}
	return addr, false
}
