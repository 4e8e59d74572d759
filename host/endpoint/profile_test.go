package endpoint

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Profiles are off unless they were asked for, and then the owner's.
func TestProfilesNeedTheOwner(t *testing.T) {
	own := http.Header{"Authorization": {"Bearer " + ownToken}}
	guest := http.Header{"Authorization": {"Bearer " + guestToken}}
	off := newWorld(t, Options{Tokens: testTokens})
	if status, _ := off.get(t, "/debug/pprof/", own); status != http.StatusNotFound {
		t.Errorf("status %d although profiles are off", status)
	}
	w := newWorld(t, Options{Tokens: testTokens, Profiles: true})
	for _, tt := range []struct {
		name, path string
		header     http.Header
		want       int
		body       string
	}{
		{"index", "/debug/pprof/", own, http.StatusOK, "goroutine"},
		{"token in the query", "/debug/pprof/goroutine?debug=1&tkn=" + ownToken, nil, http.StatusOK, "goroutine profile"},
		{"heap", "/debug/pprof/heap?debug=1", own, http.StatusOK, "heap profile"},
		{"no such profile", "/debug/pprof/nothing", own, http.StatusNotFound, "Unknown profile"},
		{"command line", "/debug/pprof/cmdline", own, http.StatusNotFound, "not found"},
		{"symbols", "/debug/pprof/symbol", own, http.StatusNotFound, "not found"},
		{"no token", "/debug/pprof/", nil, http.StatusForbidden, "a token is needed"},
		{"a guest", "/debug/pprof/heap", guest, http.StatusForbidden, "owner"},
		{"a page", "/debug/pprof/", http.Header{"Authorization": own["Authorization"], "Origin": {"https://evil.test"}}, http.StatusForbidden, "origin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := w.get(t, tt.path, tt.header)
			if status != tt.want || !strings.Contains(body, tt.body) {
				t.Errorf("got %d %.200q, want %d with %q", status, body, tt.want, tt.body)
			}
		})
	}
}

// Whoever is elsewhere gets no profile, with the owner's token either; where the
// connection comes from decides, not what its headers say.
func TestProfilesStayOnThisMachine(t *testing.T) {
	w := newWorld(t, Options{Tokens: testTokens, Profiles: true})
	for remote, want := range map[string]int{
		"127.0.0.1:50000":       http.StatusOK,
		"[::1]:50000":           http.StatusOK,
		"[::ffff:127.0.0.1]:80": http.StatusOK,
		"192.0.2.7:50000":       http.StatusForbidden,
		"[2001:db8::1]:50000":   http.StatusForbidden,
		"":                      http.StatusForbidden,
		"localhost:1":           http.StatusForbidden,
	} {
		r := httptest.NewRequestWithContext(
			context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7433})),
			http.MethodGet, "http://192.0.2.1:7433/debug/pprof/goroutine?debug=1", nil)
		r.RemoteAddr = remote
		r.Header.Set("Authorization", "Bearer "+ownToken)
		r.Header.Set("X-Forwarded-For", "127.0.0.1")
		answer := httptest.NewRecorder()
		w.ServeHTTP(answer, r)
		if answer.Code != want {
			t.Errorf("from %q: %d, want %d", remote, answer.Code, want)
		}
	}
}
