package tcp

import (
	"errors"
	"net/netip"
	"testing"
)

func rulesOf(t testing.TB, texts ...string) (rs Rules) {
	t.Helper()
	for _, text := range texts {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

// TestSpecialForms goes through every form in which an address can be written, or
// hidden in another (cases 63, 65, 67, 69): whatever a client can name by a wide
// rule, the special ranges stay closed until one names them.
func TestSpecialForms(t *testing.T) {
	wide := rulesOf(t, "*:*", "0.0.0.0/0:*", "[::/0]:*")
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "::ffff:8.8.8.8": true, "2600::1": true,
		"10.0.0.1": true, "172.16.0.1": true, "192.168.1.1": true, "fd12:3456::1": true, // private, yet ordinary: what a name rule is for
		"0.0.0.0": false, "0.0.0.1": false, "0.255.255.255": false, "::": false,
		"127.0.0.1": false, "127.255.255.254": false, "::1": false,
		"169.254.169.254": false, "169.254.0.1": false, "fe80::1": false,
		"100.64.0.1": false, "100.100.100.200": false, "100.127.255.255": false, "100.128.0.1": true,
		"168.63.129.16": false, "192.0.0.192": false, "fd00:ec2::254": false, "fd20:ce::254": false,
		"224.0.0.1": false, "239.255.255.255": false, "ff02::1": false,
		"240.0.0.1": false, "255.255.255.255": false,
		"198.18.0.1": false, "192.0.2.1": false, "198.51.100.1": false, "203.0.113.1": false, "2001:db8::1": false, "192.88.99.1": false,
		"fec0::1": false, "100::1": false, "3fff::1": false, "5f00::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:100.64.0.1": false, "::ffff:100.100.100.200": false,
		"::ffff:0.0.0.0": false, "::ffff:10.0.0.1": true, "::ffff:224.0.0.1": false,
		"::127.0.0.1": false, "::169.254.169.254": false, "::7f00:1": false, "::8.8.8.8": false,
		"::ffff:0:127.0.0.1": false, "::ffff:0:8.8.8.8": false,
		"64:ff9b::127.0.0.1": false, "64:ff9b::10.0.0.1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::100.64.0.1": false, "64:ff9b::8.8.8.8": false,
		"64:ff9b:1::": false, "64:ff9b:1::8.8.8.8": false,
		"2002:7f00:1::": false, "2002:a00:1::": false, "2002:a9fe:a9fe::": false, "2002:6440:1::": false, "2002:808:808::": false,
		"2001:0:4136:e378:8000:63bf:80ff:fffe": false, "2001:0:1::f7f7:f7f7": false, "2001:1::1": false,
	} {
		t.Run(addr, func(t *testing.T) {
			a := netip.MustParseAddr(addr)
			if got := wide.allow("", a, 80); got != want {
				t.Errorf("as an address: %v, want %v", got, want)
			}
			if got := wide.allow("evil.example", a, 80); got != want {
				t.Errorf("behind a name: %v, want %v", got, want)
			}
		})
	}
	if wide.allow("", netip.MustParseAddr("fe80::1%eth0"), 80) || wide.allow("", netip.MustParseAddr("8.8.8.8"), 0) {
		t.Error("a zone or port 0 is allowed")
	}
}

func TestAllow(t *testing.T) {
	tests := []struct {
		rules []string
		name  string // "" for an address
		addr  string
		port  uint16
		want  bool
	}{
		{nil, "", "127.0.0.1", 80, false},
		{[]string{"db.internal:5432"}, "db.internal", "10.0.0.5", 5432, true},
		{[]string{"DB.Internal.:5432"}, "db.internal", "10.0.0.5", 5432, true},
		{[]string{"db.internal:5432"}, "db.internal", "10.0.0.5", 5433, false},
		{[]string{"db.internal:5432"}, "", "10.0.0.5", 5432, false},
		{[]string{"db.internal:5432"}, "other.internal", "10.0.0.5", 5432, false},
		{[]string{"db.internal:5432"}, "db.internal", "127.0.0.1", 5432, false},
		{[]string{"db.internal:5432"}, "db.internal", "169.254.169.254", 5432, false},
		{[]string{"10.0.0.0/8:1-1023"}, "any.example", "10.9.9.9", 1023, true},
		{[]string{"10.0.0.0/8:1-1023"}, "any.example", "10.9.9.9", 1024, false},
		{[]string{"10.0.0.0/8:*"}, "", "11.0.0.1", 80, false},
		{[]string{"169.254.169.254:80"}, "", "169.254.169.254", 80, true},
		{[]string{"169.254.0.0/16:80"}, "", "169.254.1.1", 80, true},
		{[]string{"169.0.0.0/8:80"}, "", "169.254.1.1", 80, false},
		{[]string{"127.0.0.1:*"}, "", "127.0.0.2", 80, false},
		{[]string{"127.0.0.0/8:*"}, "localhost", "127.0.0.2", 80, true},
		{[]string{"[::1]:*"}, "", "::1", 80, true},
		{[]string{"[::ffff:10.0.0.1]:*"}, "", "10.0.0.1", 80, true},
		{[]string{"[::ffff:10.0.0.0/104]:*"}, "", "10.1.0.1", 80, true},
		{[]string{"10.0.0.1:*"}, "", "::ffff:10.0.0.1", 80, true},
		{[]string{"[64:ff9b::/96]:*"}, "", "64:ff9b::8.8.8.8", 80, true},
		{[]string{"[64:ff9b::/96]:*"}, "", "64:ff9b::127.0.0.1", 80, false},
		{[]string{"[64:ff9b::7f00:1]:*"}, "", "64:ff9b::127.0.0.1", 80, true},
		{[]string{"[2002::/16]:*"}, "", "2002:a9fe:a9fe::", 80, false},
		{[]string{"[2002::/16]:*"}, "", "2002:808:808::", 80, true},
		{[]string{"[2001::/32]:*"}, "", "2001:0:1::f7f7:f7f7", 80, true},
		{[]string{"[2001::/32]:*"}, "", "2001:0:1::80ff:fffe", 80, false},
		{[]string{"[fe80::/10]:22"}, "", "fe80::1", 22, true},
		{[]string{"*:443"}, "any.example", "93.184.216.34", 443, true},
		{[]string{"*:443"}, "", "93.184.216.34", 443, true},
		{[]string{"*:443"}, "any.example", "93.184.216.34", 80, false},
	}
	for _, tt := range tests {
		rs := rulesOf(t, tt.rules...)
		if got := rs.allow(tt.name, netip.MustParseAddr(tt.addr), tt.port); got != tt.want {
			t.Errorf("%v: %q at %s port %d: %v, want %v", tt.rules, tt.name, tt.addr, tt.port, got, tt.want)
		}
	}
	for addr, want := range map[string]bool{"127.0.0.1": true, "127.8.8.8": true, "::1": true, "::ffff:127.0.0.1": true, "10.0.0.1": false, "::": false, "0.0.0.0": false} {
		if got := Loopback().allow("", netip.MustParseAddr(addr), 3000); got != want {
			t.Errorf("by default %s: %v, want %v", addr, got, want)
		}
	}
}

func TestParseRule(t *testing.T) {
	for text, want := range map[string]string{
		"db.internal:5432": "", "Example.COM.:80": "example.com:80", "10.0.0.1:80": "", "10.1.2.3/8:*": "10.0.0.0/8:*",
		"[::1]:1-65535": "[::1]:*", "[fd00::/8]:80-90": "", "[::ffff:1.2.3.4]:80": "1.2.3.4:80", "*:443": "", "*:*": "",
		"localhost:3000-3000": "localhost:3000", "xn--bcher-kva.example:80": "",
	} {
		r, err := ParseRule(text)
		if want == "" {
			want = text
		}
		if err != nil || r.String() != want {
			t.Errorf("%q: %v, %v, want %s", text, r, err, want)
		}
	}
	for _, text := range []string{
		"", "db.internal", ":80", "db:0", "db:65536", "db:90-80", "db:-80", "db:80-", "db:+80", "db:", "db:x", "db: 80", "a b:80",
		"::1:80", "[::1:80", "::1]:80", "[10.0.0.1]:80", "[db]:80", "[*]:80", "[fe80::1%eth0]:80", "10.0.0.0/33:80", "10.0.0.0/8/8:80",
		"127.1:80", "0x7f000001:80", "http://x:80", "*.example.com:80", "-x:80", "x..y:80", "ä.example:80", "\u212a.example:80", "[::/0/0]:80",
		"[::ffff:0:0/90]:80",
	} {
		if r, err := ParseRule(text); !errors.Is(err, ErrRule) {
			t.Errorf("%q is read as %v, %v", text, r, err)
		}
	}
}

// FuzzParseRule: a rule that is read is written so that it is read again as the
// same.
func FuzzParseRule(f *testing.F) {
	for _, text := range []string{"db.internal:5432", "[fd00::/8]:1-2", "*:*", "10.0.0.0/8:*", "[::ffff:1.2.3.4/100]:9", "0x1:1", "[64:ff9b::/96]:443"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			return
		}
		again, err := ParseRule(r.String())
		if err != nil || again != r {
			t.Errorf("%q is %v, and that is %v, %v", text, r, again, err)
		}
	})
}

// TestTarget: what nobody could take for an address is a name; legacy spellings of
// addresses are neither (case 68).
func TestTarget(t *testing.T) {
	for host, want := range map[string]string{
		"localhost": "localhost", "LOCALHOST.": "localhost", "db.internal": "db.internal", "a-b.c1": "a-b.c1", "1.example": "1.example",
		"127.0.0.1": "127.0.0.1", "::1": "::1", "::ffff:127.0.0.1": "127.0.0.1", "0:0::1": "::1",
		"2130706433": "", "0x7f000001": "", "0x": "", "0177.0.0.1": "", "127.1": "", "127.0.0.1.": "", "1": "", "0": "", "a.1": "", "a.0x1f": "",
		"１２７.0.0.1": "", "①27.0.0.1": "", "127.0.0.1 ": "", " localhost": "", "": "", ".": "", "a..b": "", "host:80": "", "http://x": "", "[::1]": "",
		"fe80::1%eth0": "", "::1%1": "", "a_b": "", "-a": "", "a-": "", "\u212a": "", "x/y": "", "a\x00b": "", "user@host": "",
	} {
		got, ok := parseTarget(host, 80)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: %q, %v, want %q", host, got.String(), ok, want)
		}
	}
	long := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a'
			if i%60 == 59 {
				b[i] = '.'
			}
		}
		return string(b)
	}
	for n, want := range map[int]bool{253: true, 254: false} {
		if _, ok := parseTarget(long(n), 80); ok != want {
			t.Errorf("a name of %d characters: %v", n, ok)
		}
	}
	for port, want := range map[int]bool{0: false, 1: true, 65535: true, 65536: false, -1: false} {
		if _, ok := parseTarget("x", port); ok != want {
			t.Errorf("port %d: %v, want %v", port, ok, want)
		}
	}
}

// FuzzTarget: nothing that the standard library would connect to as an address is
// taken for a name.
func FuzzTarget(f *testing.F) {
	for _, host := range []string{"localhost", "127.0.0.1", "0x7f.1", "::ffff:1.2.3.4", "a.b.c.", "1e3"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		got, ok := parseTarget(host, 80)
		if !ok {
			return
		}
		if _, err := netip.ParseAddr(host); (err == nil) != got.addr.IsValid() {
			t.Errorf("%q: %+v", host, got)
		}
		if again, ok := parseTarget(got.String(), 80); !ok || again != got {
			t.Errorf("%q is %+v, and that is %+v, %v", host, got, again, ok)
		}
	})
}
