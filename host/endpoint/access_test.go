package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/host"
)

// The tokens of the tables. A token of the owner and one of somebody else.
const (
	ownToken   = "OWNTOKENOWNTOKENOWNTOKENAB"
	guestToken = "guest-token.of~somebody_else"
)

func testTokens() []Token {
	return []Token{NewToken(ownToken, host.Local), NewToken(guestToken, "guest")}
}

var (
	loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7433}
	network  = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 7433}
	socket   = &net.UnixAddr{Name: "/run/host.sock", Net: "unix"}
)

// probe is a request as the tables write it.
type probe struct {
	local   net.Addr // nil: loopback
	host    string   // "": 127.0.0.1:7433
	query   string
	headers []string // name: value
	tls     *tls.ConnectionState
}

func (p probe) request() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/?"+p.query, nil)
	r.Host, r.TLS = p.host, p.tls
	if p.host == "" {
		r.Host = "127.0.0.1:7433"
	}
	for _, h := range p.headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	local := p.local
	if local == nil {
		local = loopback
	}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
}

func mustAccess(t *testing.T, o Options) *access {
	t.Helper()
	a, err := newAccess(o)
	if err != nil {
		t.Fatalf("newAccess: %v", err)
	}
	return &a
}

// check asks for a request and compares the reason of its refusal, "" for none.
func check(t *testing.T, a *access, p probe, want string) host.Principal {
	t.Helper()
	principal, refused := a.admit(p.request())
	got := ""
	if refused != nil {
		got = refused.reason
	}
	if got != want {
		t.Errorf("refused for %q, want %q", got, want)
	}
	if (principal == "") != (want != "") {
		t.Errorf("principal %q with refusal %q", principal, got)
	}
	return principal
}

func TestOrigin(t *testing.T) {
	secure := &tls.ConnectionState{}
	tests := []struct {
		name, origin string
		probe        probe
		want         string
	}{
		{"foreign page", "https://evil.test", probe{}, reasonOrigin},
		{"opaque", "null", probe{}, reasonOrigin},
		{"empty", "", probe{}, reasonOrigin},
		{"other port of this machine", "http://localhost:9999", probe{host: "localhost:7433"}, reasonOrigin},
		{"other port, no port in host", "http://localhost:9999", probe{host: "localhost"}, reasonOrigin},
		{"own", "http://127.0.0.1:7433", probe{}, ""},
		{"own by name", "http://localhost:7433", probe{host: "localhost:7433"}, ""},
		{"own by name in capitals", "http://localhost:7433", probe{host: "LOCALHOST:7433"}, ""},
		{"own IPv6", "http://[::1]:7433", probe{host: "[::1]:7433"}, ""},
		{"another name of the same", "http://localhost:7433", probe{}, reasonOrigin},
		{"own in capitals", "HTTP://127.0.0.1:7433", probe{}, reasonOrigin},
		{"own with a path", "http://127.0.0.1:7433/", probe{}, reasonOrigin},
		{"own without the port", "http://127.0.0.1", probe{}, reasonOrigin},
		{"own over TLS without TLS", "https://127.0.0.1:7433", probe{}, reasonOrigin},
		{"own over TLS", "https://127.0.0.1:7433", probe{tls: secure}, ""},
		{"own without TLS over TLS", "http://127.0.0.1:7433", probe{tls: secure}, reasonOrigin},
		{"through a tunnel at another port", "http://localhost:9000", probe{host: "localhost:9000"}, reasonOrigin},
		{"on the scheme's own port", "http://localhost", probe{host: "localhost", local: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}}, ""},
		{"longer name", "http://127.0.0.1:7433.evil.test", probe{}, reasonOrigin},
		{"own name as user", "http://127.0.0.1:7433@evil.test", probe{}, reasonOrigin},
		{"listed", "https://app.example", probe{}, ""},
		{"listed with its default port", "https://app.example:443", probe{}, reasonOrigin},
		{"listed, other port", "https://app.example:8443", probe{}, reasonOrigin},
		{"listed, other scheme", "http://app.example", probe{}, reasonOrigin},
		{"listed, below", "https://x.app.example", probe{}, reasonOrigin},
		{"listed in capitals", "https://APP.example", probe{}, reasonOrigin},
		{"listed scheme of an editor", "editor-view://panel", probe{}, ""},
		{"foreign on a socket", "https://evil.test", probe{local: socket}, reasonOrigin},
		{"of a socket's name", "http://localhost", probe{local: socket, host: "localhost"}, reasonOrigin},
	}
	options := Options{AllowOrigins: []string{"https://APP.example:443/", "editor-view://panel"}}
	for _, tokens := range []func() []Token{nil, testTokens} {
		options.Tokens = tokens
		a := mustAccess(t, options)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				p := tt.probe
				p.query = "tkn=" + ownToken
				p.headers = []string{"Origin: " + tt.origin}
				check(t, a, p, tt.want)
			})
		}
	}
	t.Run("two", func(t *testing.T) {
		own := "Origin: http://127.0.0.1:7433"
		check(t, mustAccess(t, Options{}), probe{headers: []string{own, own}}, reasonOrigin)
	})
}

func TestHost(t *testing.T) {
	tests := []struct {
		name, host string
		local      net.Addr
		want       string
	}{
		{"rebinding", "evil.test", nil, reasonHost},
		{"rebinding with the port", "evil.test:7433", nil, reasonHost},
		{"rebinding that looks local", "localhost.evil.test:7433", nil, reasonHost},
		{"address as a label", "127.0.0.1.evil.test", nil, reasonHost},
		{"name", "localhost:7433", nil, ""},
		{"name in capitals", "LocalHost:7433", nil, ""},
		{"name through a tunnel", "localhost:9000", nil, ""},
		{"loopback", "127.0.0.1", nil, ""},
		{"far loopback", "127.8.8.8:7433", nil, ""},
		{"IPv6 loopback", "[::1]:7433", nil, ""},
		{"IPv6 loopback alone", "[::1]", nil, ""},
		{"mapped loopback", "[::ffff:127.0.0.1]:7433", nil, ""},
		{"short form of loopback", "127.1:7433", nil, reasonHost},
		{"number of loopback", "2130706433", nil, reasonHost},
		{"address elsewhere", "192.0.2.7:7433", nil, reasonHost},
		{"unspecified", "0.0.0.0:7433", nil, reasonHost},
		{"own address", "192.0.2.7:7433", network, ""},
		{"own address through a tunnel", "192.0.2.7:80", network, ""},
		{"listed", "box.example:1234", nil, ""},
		{"listed in capitals", "BOX.example", nil, ""},
		{"listed with a port", "gate.example:443", nil, ""},
		{"listed with another port", "gate.example:444", nil, reasonHost},
		{"listed with the port left out", "gate.example", nil, reasonHost},
		{"below a listed one", "a.box.example", nil, reasonHost},
		{"any name on a socket", "evil.test", socket, ""},
	}
	a := mustAccess(t, Options{AllowHosts: []string{"Box.Example", "gate.example:443"}})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, a, probe{host: tt.host, local: tt.local}, tt.want)
		})
	}
	t.Run("none", func(t *testing.T) {
		r := probe{}.request()
		r.Host = ""
		if _, refused := a.admit(r); refused == nil || refused.reason != reasonHost {
			t.Errorf("refused %v, want for the host", refused)
		}
	})
}

func TestTokens(t *testing.T) {
	tests := []struct {
		name  string
		probe probe
		want  string
		whose host.Principal
	}{
		{"tkn", probe{query: "tkn=" + ownToken}, "", host.Local},
		{"token", probe{query: "token=" + ownToken}, "", host.Local},
		{"bearer", probe{headers: []string{"Authorization: Bearer " + ownToken}}, "", host.Local},
		{"bearer in lower case", probe{headers: []string{"Authorization: bearer  " + ownToken}}, "", host.Local},
		{"named", probe{query: "tkn=" + guestToken}, "", "guest"},
		{"named, escaped", probe{query: "tkn=guest-token%2Eof%7Esomebody_else"}, "", "guest"},
		{"named, on a socket", probe{query: "tkn=" + guestToken, local: socket}, "", "guest"},
		{"the same everywhere", probe{query: "tkn=" + ownToken + "&token=" + ownToken, headers: []string{"Authorization: Bearer " + ownToken}}, "", host.Local},
		{"none", probe{}, reasonToken, ""},
		{"empty", probe{query: "tkn="}, reasonToken, ""},
		{"none, on a socket", probe{local: socket}, "", host.Local},
		{"wrong", probe{query: "tkn=nonsense"}, reasonToken, ""},
		{"wrong, on a socket", probe{query: "tkn=nonsense", local: socket}, reasonToken, ""},
		{"other case", probe{query: "tkn=" + strings.ToLower(ownToken)}, reasonToken, ""},
		{"shorter", probe{query: "tkn=" + ownToken[1:]}, reasonToken, ""},
		{"longer", probe{query: "tkn=" + ownToken + "A"}, reasonToken, ""},
		{"parameter in capitals", probe{query: "TKN=" + ownToken}, reasonToken, ""},
		{"basic", probe{headers: []string{"Authorization: Basic " + ownToken}}, reasonToken, ""},
		{"no scheme", probe{headers: []string{"Authorization: " + ownToken}}, reasonToken, ""},
		{"in another header", probe{headers: []string{"Cookie: tkn=" + ownToken}}, reasonToken, ""},
		{"two that differ", probe{query: "tkn=" + ownToken + "&token=" + guestToken}, reasonToken, ""},
		{"right and wrong", probe{query: "tkn=" + ownToken + "&tkn=nonsense"}, reasonToken, ""},
		{"query and header differ", probe{query: "tkn=" + ownToken, headers: []string{"Authorization: Bearer " + guestToken}}, reasonToken, ""},
	}
	a := mustAccess(t, Options{Tokens: testTokens})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := check(t, a, tt.probe, tt.want); got != tt.whose {
				t.Errorf("principal %q, want %q", got, tt.whose)
			}
		})
	}
}

func TestTokensOff(t *testing.T) {
	a := mustAccess(t, Options{})
	for _, query := range []string{"", "tkn=whatever"} {
		if got := check(t, a, probe{query: query}, ""); got != host.Local {
			t.Errorf("principal %q with query %q, want %q", got, query, host.Local)
		}
	}
}

func TestTokensMayChange(t *testing.T) {
	valid := testTokens()
	a := mustAccess(t, Options{Tokens: func() []Token { return valid }})
	check(t, a, probe{query: "tkn=" + guestToken}, "")
	valid = valid[:1]
	check(t, a, probe{query: "tkn=" + guestToken}, reasonToken)
}

func TestCertificate(t *testing.T) {
	verified := func(name string) *tls.ConnectionState {
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
		return &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{cert}}, PeerCertificates: []*x509.Certificate{cert}}
	}
	unverified := verified("alice")
	unverified.VerifiedChains = nil
	tests := []struct {
		name  string
		probe probe
		want  string
		whose host.Principal
	}{
		{"verified", probe{tls: verified("alice")}, "", "alice"},
		{"not verified", probe{tls: unverified}, reasonToken, ""},
		{"the owner's name", probe{tls: verified("local")}, reasonCertificate, ""},
		{"the owner's name in capitals", probe{tls: verified("Local")}, reasonCertificate, ""},
		{"no name", probe{tls: verified("")}, reasonCertificate, ""},
		{"control characters", probe{tls: verified("al\nice")}, reasonCertificate, ""},
		{"too long", probe{tls: verified(strings.Repeat("a", maxCommonName+1))}, reasonCertificate, ""},
		{"with a token", probe{tls: verified("alice"), query: "tkn=" + guestToken}, "", "guest"},
		{"with a wrong token", probe{tls: verified("alice"), query: "tkn=nonsense"}, reasonToken, ""},
	}
	a := mustAccess(t, Options{Tokens: testTokens})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := check(t, a, tt.probe, tt.want); got != tt.whose {
				t.Errorf("principal %q, want %q", got, tt.whose)
			}
		})
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	origins := []string{"", "null", "*", "app.example", "https://", "https://*.app.example", "https://app.example/path", "https://u@app.example", "https://app.example?q", "::"}
	for _, s := range origins {
		if _, err := newAccess(Options{AllowOrigins: []string{s}}); err == nil {
			t.Errorf("origin %q was accepted", s)
		}
	}
	for _, s := range []string{"", "*", "*.example", "https://box.example", "a b", "u@box"} {
		if _, err := newAccess(Options{AllowHosts: []string{s}}); err == nil {
			t.Errorf("host %q was accepted", s)
		}
	}
}

func FuzzAdmit(f *testing.F) {
	f.Add("127.0.0.1:7433", "http://127.0.0.1:7433", "tkn="+ownToken, "Bearer "+ownToken)
	f.Add("evil.test", "null", "tkn=%zz;token", "Bearer")
	f.Add("[::1", "http://[::1", "&&=", "")
	a, err := newAccess(Options{Tokens: testTokens, AllowOrigins: []string{"https://app.example"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, hostHeader, origin, query, auth string) {
		r := probe{}.request()
		r.Host, r.URL.RawQuery = hostHeader, query
		r.Header = http.Header{"Origin": {origin}, "Authorization": {auth}}
		p, refused := a.admit(r)
		if refused != nil {
			return
		}
		if p != host.Local && p != "guest" {
			t.Errorf("principal %q", p)
		}
		if name, _ := splitHost(strings.ToLower(hostHeader)); name != "localhost" && net.ParseIP(name) == nil {
			t.Errorf("host %q was let in", hostHeader)
		}
		if !strings.Contains(query+auth, ownToken) && !strings.Contains(query+auth, guestToken) && !strings.ContainsRune(query, '%') {
			t.Errorf("no token in %q and %q, yet let in", query, auth)
		}
	})
}
