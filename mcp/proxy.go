package mcp

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
)

// NewProxy returns a handler that passes requests to the MCP server at upstream and
// its responses back as they come. Paths other than the server's own go to the same
// path of its origin, such as the documents that authorization begins with. Log takes
// what a client is not told; nil: nothing is logged.
func NewProxy(upstream *url.URL, log *slog.Logger) http.Handler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // what a client did not ask for is not taken apart here
	transport.ResponseHeaderTimeout = 0 // a tool may think for long
	return &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // at once: a stream of events
		Rewrite: func(r *httputil.ProxyRequest) {
			u := *upstream
			if p := r.In.URL.Path; p != "" && p != "/" && p != "/mcp" {
				u.Path, u.RawPath = p, r.In.URL.RawPath
			}
			u.RawQuery = joinQuery(upstream.RawQuery, r.In.URL.RawQuery)
			r.Out.URL, r.Out.Host = &u, upstream.Host
			r.Out.Header.Del("Origin") // of a page that the gateway let in, which the server does not know
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				log.Warn("the server cannot be reached", "server", upstream.Host, "err", err)
			}
			http.Error(w, "the server behind the gateway cannot be reached", http.StatusBadGateway)
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

func joinQuery(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "&" + b
}

// OnlyLocal lets in requests that name this machine, so that a page in a browser
// cannot reach a gateway on a loopback address by a name of its own (DNS rebinding) or
// from a foreign origin.
func OnlyLocal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkLocal(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func checkLocal(r *http.Request) error {
	if !loopbackName(r.Host) {
		return fmt.Errorf("the gateway does not serve the name %q", r.Host)
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || !loopbackName(u.Host) {
			return fmt.Errorf("the gateway does not serve pages of this origin")
		}
	}
	return nil
}

// loopbackName reports whether a host, with or without a port, is this machine.
func loopbackName(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
