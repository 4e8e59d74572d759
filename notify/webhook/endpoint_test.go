package webhook

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/notify"
)

// refusedAddrs are addresses no name may lead to (notifications, 7.1.3).
var refusedAddrs = []string{
	"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
	"169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255",
	"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
	"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1",
	"fc00::1", "fd12:3456::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1", "5f00::1",
	"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2001::1", "2001:0:5ef5:79fb::1", "2001:db8::1", "2001:10::1", "2001:20::1",
	"2002:7f00:1::1", "2002:a00:1::1", "3fff::1", "2606:4700::1%eth0",
}

func TestAcceptance11AddressesAreRefusedAtTheDial(t *testing.T) {
	w := newWorld(t)
	for _, addr := range refusedAddrs {
		w.names["example.com"] = []netip.Addr{netip.MustParseAddr(addr)}
		if out := w.send(endpoint, "{}"); out.Class != notify.ClassPermanent || out.Category != categoryBlocked {
			t.Errorf("%s: %+v", addr, out)
		}
	}
	if got := w.dials(); len(got) != 0 {
		t.Errorf("dialled %v", got)
	}
	for _, addr := range []string{"93.184.215.14", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"} {
		if !reachable(netip.MustParseAddr(addr)) {
			t.Errorf("%s is refused", addr)
		}
	}
}

// TestAcceptance11Rebinding lets a name lead somewhere else at each look, and to
// several places at once.
func TestAcceptance11Rebinding(t *testing.T) {
	w := newWorld(t)
	inside := netip.MustParseAddr("169.254.169.254")
	w.names["example.com"] = []netip.Addr{inside, publicAddr, netip.MustParseAddr("::1")}
	if out := w.send(endpoint, "{}"); out.Class != notify.ClassDelivered {
		t.Errorf("with one public address among them: %+v", out)
	}
	w.hook.Close() // a kept connection would not ask again
	w.names["example.com"] = []netip.Addr{inside}
	if out := w.send(endpoint, "{}"); out.Category != categoryBlocked {
		t.Errorf("rebound: %+v", out)
	}
	for _, addr := range w.dials() {
		if addr != publicAddr.String()+":443" {
			t.Errorf("dialled %s", addr)
		}
	}
}

func TestAcceptance11EndpointsAtAdmission(t *testing.T) {
	w := newWorld(t)
	for text, want := range map[string]string{
		"https://example.com/hook":           "",
		"https://example.com":                "",
		"https://example.com:443/":           "",
		"HTTPS://EXAMPLE.com/Hook?a=1&b=%20": "",
		"https://xn--bcher-kva.example/":     "",
		"https://a_b.example/":               "",

		"http://example.com/":       notify.RouteNotAllowed,
		"https://example.com:8443/": notify.RouteNotAllowed,
		"https://93.184.215.14/":    notify.RouteNotAllowed,
		"https://127.0.0.1/":        notify.RouteNotAllowed,
		"https://2130706433/":       notify.RouteNotAllowed,
		"https://0x7f000001/":       notify.RouteNotAllowed,
		"https://0x7f.1/":           notify.RouteNotAllowed,
		"https://0177.0.0.1/":       notify.RouteNotAllowed,
		"https://127.1/":            notify.RouteNotAllowed,
		"https://[::1]/":            notify.RouteNotAllowed,
		"https://[::ffff:7f00:1]/":  notify.RouteNotAllowed,
		"https://localhost./":       notify.RouteInvalidEndpoint,

		"":                                                 notify.RouteInvalidEndpoint,
		"example.com/hook":                                 notify.RouteInvalidEndpoint,
		"ftp://example.com/":                               notify.RouteInvalidEndpoint,
		"https:///hook":                                    notify.RouteInvalidEndpoint,
		"https:example.com":                                notify.RouteInvalidEndpoint,
		"https://user@example.com/":                        notify.RouteInvalidEndpoint,
		"https://user:pw@example.com/":                     notify.RouteInvalidEndpoint,
		"https://example.com/#part":                        notify.RouteInvalidEndpoint,
		"https://example.com/#":                            notify.RouteInvalidEndpoint,
		"https://bücher.example/":                          notify.RouteInvalidEndpoint,
		"https://example.com/a b":                          notify.RouteInvalidEndpoint,
		"https://example.com/\r\nX-A: b":                   notify.RouteInvalidEndpoint,
		"https://example.com:0/":                           notify.RouteInvalidEndpoint,
		"https://example.com:99999/":                       notify.RouteInvalidEndpoint,
		"https://example.com:https/":                       notify.RouteInvalidEndpoint,
		"https://example.com/a/../b":                       notify.RouteInvalidEndpoint,
		"https://example.com/a/%2e%2E/b":                   notify.RouteInvalidEndpoint,
		"https://exa%6dple.com/":                           notify.RouteInvalidEndpoint,
		"https://-a.example/":                              notify.RouteInvalidEndpoint,
		"https://a..example/":                              notify.RouteInvalidEndpoint,
		"https://[fe80::1%25eth0]/":                        notify.RouteNotAllowed,
		"https://example.com/" + strings.Repeat("a", 2048): notify.RouteInvalidEndpoint,
	} {
		r := &notify.Route{ID: "a", Type: Name, Endpoint: text}
		if got := w.hook.Validate(caller, r); got != want {
			t.Errorf("%.60q: %q, want %q", text, got, want)
		}
	}
	if len(w.dials()) != 0 {
		t.Errorf("admission dialled %v", w.dials())
	}
}

// TestURLIsSentAsRegistered is case 124.
func TestURLIsSentAsRegistered(t *testing.T) {
	w := newWorld(t)
	for _, uri := range []string{"/a%2Fb", "/a%20b?q=%20+%2B", "/hook/", "/hook?", "/?a=b%26c", "/%e2%82%ac?x=%E2%82%AC", "/a;b=c"} {
		if out := w.send("https://example.com"+uri, "{}"); out.Class != notify.ClassDelivered {
			t.Errorf("%s: %+v", uri, out)
		}
		if got := w.last().uri; got != uri {
			t.Errorf("sent %s, want %s", got, uri)
		}
	}
	if out := w.send("https://example.com:443", "{}"); out.Class != notify.ClassDelivered || w.last().uri != "/" {
		t.Errorf("without a path: %+v, %s", out, w.last().uri)
	}
}

func TestRules(t *testing.T) {
	for prefix, tests := range map[string]map[string]bool{
		"http://127.0.0.1:9000/": {
			"http://127.0.0.1:9000/": true, "http://127.0.0.1:9000": true, "http://127.0.0.1:9000/a?b": true,
			"http://127.0.0.1:9001/": false, "https://127.0.0.1:9000/": false, "http://127.0.0.2:9000/": false, "http://localhost:9000/": false,
		},
		"https://hooks.example.com/a/b": {
			"https://hooks.example.com/a/b": true, "https://hooks.example.com/a/b/": true, "https://hooks.example.com/a/b/c": true,
			"https://HOOKS.example.com:443/a/b": true, "https://hooks.example.com/a/bc": false, "https://hooks.example.com/a": false,
			"https://hooks.example.com.evil.example/a/b": false, "https://hooks.example.com@evil.example/a/b": false,
			"https://evil.example/https://hooks.example.com/a/b": false, "https://hooks.example.com/a/b/../c": false, "https://hooks.example.com/a%2Fb": false,
		},
		"https://hooks.example.com": {"https://hooks.example.com/x": true, "https://hooks.example.com:8443/x": false},
	} {
		rule, err := ParseRule(prefix)
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
			continue
		}
		hook := New(Options{Allow: []Rule{rule}})
		for url, want := range tests {
			r := &notify.Route{ID: "a", Type: Name, Endpoint: url}
			hook.Validate(caller, r)
			if got := hook.Proven(r); got != want {
				t.Errorf("%s lets %s: %v, want %v", prefix, url, got, want)
			}
		}
	}
	for _, bad := range []string{"", "example.com", "https://u@example.com/", "https://example.com/?a=b", "https://example.com/?", "https://example.com/#x", "ftp://example.com/"} {
		if _, err := ParseRule(bad); err == nil {
			t.Errorf("%q is taken for a rule", bad)
		}
	}
}

// TestLeaveIsNotCarriedOver: a connection that a rule allowed is not used for an
// endpoint that no rule allows.
func TestLeaveIsNotCarriedOver(t *testing.T) {
	w := newWorld(t)
	w.names["example.com"] = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	ln, err := w.net.Listen("10.0.0.1:443")
	if err != nil {
		t.Fatal(err)
	}
	inner := &httpsOn{ln, w}
	inner.start(t)
	allowed := &notify.Route{ID: "a", Type: Name, Endpoint: endpoint, Grant: "a rule"}
	if out := w.attempt(allowed, "{}"); out.Class != notify.ClassDelivered {
		t.Fatalf("allowed: %+v", out)
	}
	if out := w.send(endpoint, "{}"); out.Category != categoryBlocked {
		t.Errorf("not allowed: %+v", out)
	}
}

func TestHeaderNames(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "authorization": true, "X-Token": true, "x-a": true,
		"Host": false, "Content-Type": false, "content-length": false, "webhook-id": false, "Webhook-Signature": false, "Connection": false,
		"Transfer-Encoding": false, "Cookie": false, "X-": false, "X-Causeway-Attempt": false, "X-A\r\nB": false, "X A": false, "": false,
	} {
		if got := headerAllowed(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func TestShowHidesQueryAndUser(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://example.com/hook?token=geheim": "https://example.com/hook?…",
		"https://example.com/hook":              "https://example.com/hook",
		"https://user:geheim@example.com/":      "(not a URL)",
		"geheim":                                "(not a URL)",
	} {
		if got := show(endpoint); got != want {
			t.Errorf("%s: %s, want %s", endpoint, got, want)
		}
	}
}

func FuzzEndpoint(f *testing.F) {
	for _, seed := range []string{endpoint, "https://0x7f.1/", "http://[::1]:80/a?b", "https://a@b/", "https://example.com/%2e%2e/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseEndpoint(text)
		if err != nil {
			return
		}
		if a.host == "" || a.url.User != nil || a.url.Fragment != "" {
			t.Errorf("%q was taken: host %q", text, a.host)
		}
		again, err := parseEndpoint(a.url.String())
		if err != nil || again.target() != a.target() || again.literal != a.literal {
			t.Errorf("%q reads as %s, written again as %s: %v", text, a.target(), again.target(), err)
		}
		if strings.Contains(show(text), a.url.RawQuery) && len(a.url.RawQuery) > 8 && !strings.Contains(a.scope(), a.url.RawQuery) {
			t.Errorf("%q shows its query", text)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"120", "-1", "Tue, 01 Dec 2026 12:10:00 GMT", "1e9", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if got := retryAfter(value, publicTime); !got.IsZero() && got.Before(publicTime) {
			t.Errorf("%q: %v lies in the past", value, got)
		}
	})
}
