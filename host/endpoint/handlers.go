package endpoint

import (
	"net/http"
	"strings"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// ServeHTTP implements http.Handler. The request must come from an http.Server:
// what it says about the local address and TLS decides who the peer is.
//
// Paths are compared as they are; nothing is redirected, since a redirect would
// repeat the query.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	switch path := r.URL.Path; {
	case path == "/":
		e.guard(w, r, e.upgrade)
	case path == "/metrics":
		e.guard(w, r, func(w http.ResponseWriter, r *http.Request, _ host.Principal) { e.metrics.ServeHTTP(w, r) })
	case path == "/healthz":
		e.healthz(w, r)
	case path == "/livez":
		e.livez(w)
	case e.profiles && strings.HasPrefix(path, profilePath):
		e.guard(w, r, e.profile)
	default:
		http.Error(w, "not found", http.StatusNotFound)
	}
}

// guarded is a handler behind the access rules.
type guarded func(w http.ResponseWriter, r *http.Request, p host.Principal)

// guard answers 503 while shutting down and 403 to whoever may not come in.
func (e *Endpoint) guard(w http.ResponseWriter, r *http.Request, next guarded) {
	if e.closing.Load() {
		unavailable(w)
		return
	}
	p, refused := e.access.admit(r)
	if refused != nil {
		e.refuse(w, r, refused)
		return
	}
	next(w, r, p)
}

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	http.Error(w, "shutting down", http.StatusServiceUnavailable)
}

// refuse says no in a way that helps whoever set the client up, and tells a page
// that should not be there nothing it did not know.
func (e *Endpoint) refuse(w http.ResponseWriter, r *http.Request, f *refusal) {
	e.refused.WithLabelValues(f.reason).Inc()
	e.log.Info("request refused", "reason", f.reason, "remote", r.RemoteAddr, f.name, clip(f.value))
	http.Error(w, f.text, http.StatusForbidden)
}

// clip keeps what a peer wrote from filling the log.
func clip(s string) string {
	const most = 120
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

func (e *Endpoint) upgrade(w http.ResponseWriter, r *http.Request, p host.Principal) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, "this is an Agent Host Protocol host; connect with a WebSocket client", http.StatusUpgradeRequired)
		return
	}
	if !e.enter() {
		unavailable(w)
		return
	}
	c, err := websocket.Upgrade(w, r, e.options)
	if err != nil {
		e.conns.Done()
		e.log.Debug("upgrade failed", "remote", r.RemoteAddr, "err", err)
		return
	}
	// The handler returns, so that net/http's buffers and this stack go away.
	go e.serve(c, p)
}
