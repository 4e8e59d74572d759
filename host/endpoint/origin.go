package endpoint

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// originAllowed returns the Origin of a request and whether it may connect. No
// Origin means a native client.
func (a *access) originAllowed(r *http.Request, local net.Addr) (string, bool) {
	values := r.Header.Values("Origin")
	switch len(values) {
	case 0:
		return "", true
	case 1:
		return values[0], a.origins[values[0]] || isOwnOrigin(values[0], r, local)
	}
	return strings.Join(values, ", "), false
}

// isOwnOrigin reports whether a page came from this very endpoint: by the name
// the request was sent to, which was checked before, and at the port it really
// listens on. Another port of the same machine is another program.
func isOwnOrigin(origin string, r *http.Request, local net.Addr) bool {
	scheme, port := "http", "80"
	if r.TLS != nil {
		scheme, port = "https", "443"
	}
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return false
	}
	name, explicit := splitHost(r.Host)
	if explicit != "" {
		port = explicit
	}
	if port != fmt.Sprint(tcp.Port) {
		return false
	}
	own, err := canonicalOrigin(scheme + "://" + joinHost(name, explicit))
	return err == nil && origin == own
}

// canonicalOrigin returns an origin as browsers write it: lower case, without
// the scheme's own port (RFC 6454, 6.2).
func canonicalOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("origin %q is not of the form scheme://host[:port]", s)
	}
	name, port := splitHost(strings.ToLower(u.Host))
	if name == "" || strings.Contains(name, "*") {
		return "", fmt.Errorf("origin %q needs the name of one host", s)
	}
	if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		port = ""
	}
	return u.Scheme + "://" + joinHost(name, port), nil // url.Parse lowers the scheme
}

// hostPattern is a name of the endpoint; port "" means any.
type hostPattern struct{ name, port string }

func parseHostPattern(s string) (hostPattern, error) {
	name, port := splitHost(strings.ToLower(s))
	if name == "" || strings.ContainsAny(name, "/*@ ") || strings.Trim(port, "0123456789") != "" {
		return hostPattern{}, fmt.Errorf("host %q is not of the form name[:port]", s)
	}
	return hostPattern{name, port}, nil
}

// hostAllowed reports whether the Host header names this endpoint. Of an address
// the port does not matter, since a tunnel may change it and rebinding needs a
// name.
func (a *access) hostAllowed(header string, local net.Addr) bool {
	name, port := splitHost(strings.ToLower(header))
	if name == "localhost" {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		if ip.Unmap().IsLoopback() || isAddress(local, ip) {
			return true
		}
	}
	for _, h := range a.hosts {
		if h.name == name && (h.port == "" || h.port == port) {
			return true
		}
	}
	return false
}

// isAddress reports whether the connection arrived at ip.
func isAddress(local net.Addr, ip netip.Addr) bool {
	tcp, ok := local.(*net.TCPAddr)
	return ok && tcp.AddrPort().Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}

// splitHost splits name[:port]; an IPv6 address comes without its brackets.
func splitHost(s string) (name, port string) {
	if name, port, err := net.SplitHostPort(s); err == nil {
		return name, port
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return s[1 : len(s)-1], ""
	}
	return s, ""
}

// joinHost is the opposite of splitHost.
func joinHost(name, port string) string {
	if port != "" {
		return net.JoinHostPort(name, port)
	}
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}
