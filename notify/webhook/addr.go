package webhook

import "net/netip"

// Where a name that no rule allows may lead: the unicast addresses of the public
// network, less the ranges in them that are somebody's own or lead elsewhere.
// IPv6 is taken from the one block that is given out, so what maps or translates
// IPv4 lies outside of it, but for Teredo and 6to4 (notifications, 7.1.3).
var (
	public  = networks("0.0.0.0/0", "2000::/3")
	private = networks(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	)
)

func networks(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// reachable reports whether an address may be dialled without a rule.
func reachable(addr netip.Addr) bool {
	if addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	return within(public, addr) && !within(private, addr)
}

func within(list []netip.Prefix, addr netip.Addr) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
