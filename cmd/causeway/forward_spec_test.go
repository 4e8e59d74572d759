package main

import (
	"net"
	"strings"
	"testing"
)

func TestForwardSpecs(t *testing.T) {
	for text, want := range map[string]forwardSpec{
		"8080:localhost:3000":                  {"127.0.0.1:8080", "localhost", 3000},
		"0:db.internal:5432":                   {"127.0.0.1:0", "db.internal", 5432},
		"127.0.0.2:8080:10.0.0.1:80":           {"127.0.0.2:8080", "10.0.0.1", 80},
		"*:8080:localhost:80":                  {":8080", "localhost", 80},
		":8080:localhost:80":                   {":8080", "localhost", 80},
		"[::1]:8080:[2001:db8::1]:80":          {"[::1]:8080", "2001:db8::1", 80},
		"8080:[::1]:65535":                     {"127.0.0.1:8080", "::1", 65535},
		"localhost:8080:name-with-dash.x:3000": {"localhost:8080", "name-with-dash.x", 3000},
	} {
		if got, err := parseForward(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "8080", "8080:localhost", "8080:localhost:", "8080::80", "x:localhost:80", "8080:localhost:x", "8080:localhost:0",
		"65536:localhost:80", "8080:localhost:65536", "-1:localhost:80", "1:2:3:4:5", "8080:[::1:80", "8080:[::1]80", "8080:::1:80", "8080:localhost:+80",
	} {
		if got, err := parseForward(text); err == nil {
			t.Errorf("%q was accepted as %+v", text, got)
		}
	}
}

func TestSocksSpecs(t *testing.T) {
	for text, want := range map[string]string{
		"1080": "127.0.0.1:1080", "*:1080": ":1080", "[::1]:0": "[::1]:0", "localhost:1080": "localhost:1080",
	} {
		if got, err := parseSocks(text); err != nil || got.bind != want || !got.socks() {
			t.Errorf("%q: %+v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "1080:localhost:80", "::1080"} {
		if got, err := parseSocks(text); err == nil {
			t.Errorf("%q was accepted as %+v", text, got)
		}
	}
}

// Whatever is accepted can be listened on and dialled as far as its form goes.
func FuzzForwardSpec(f *testing.F) {
	for _, seed := range []string{"8080:localhost:3000", "[::1]:8080:[2001:db8::1]:80", "*:0:a:1", "8080:[::1:80", ":::", "[]:1:[]:2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseForward(text)
		if err != nil {
			return
		}
		if _, port, err := net.SplitHostPort(s.bind); err != nil && !strings.ContainsAny(s.bind, "[]") || err == nil && port == "" {
			t.Errorf("%q: bind %q: %v", text, s.bind, err)
		}
		if s.host == "" || s.port < 1 || s.port > 65535 {
			t.Errorf("%q: destination %q:%d", text, s.host, s.port)
		}
	})
}

func TestByteText(t *testing.T) {
	for n, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 123456: "123 KB", 5e6: "5.0 MB", 2.5e9: "2.5 GB", 3e13: "30.0 TB"} {
		if got := byteText(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}
