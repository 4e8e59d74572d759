package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// maxBodyBytes bounds the body of a client's request.
const maxBodyBytes = 64 << 20

// errShutdown is why what still runs at the end is interrupted.
var errShutdown = errors.New("the gateway is shutting down")

// Handler serves MCP over streamable HTTP and adds the feature to the server behind
// it: the stateless era (2026-07-28) and the sessions before it. It is safe for
// concurrent use.
type Handler struct {
	next      http.Handler
	gate      *gate
	greetings greetings

	// ctx is the life of the accepted calls, which outlive their requests.
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	closing bool
	calls   map[string]*httpCall // by call id, until nobody can resume them
	ended   []*httpCall          // of those, the ones that are over, oldest first
}

// NewHandler returns a Handler before next, which serves the same streamable HTTP:
// the handler of an MCP server, or a reverse proxy to one. Shutdown ends it. Ctx
// gives the values of the calls' contexts; its end interrupts them.
func NewHandler(ctx context.Context, next http.Handler, o Options) *Handler {
	h := &Handler{next: next, gate: newGate(o), calls: make(map[string]*httpCall)}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	return h
}

// Shutdown waits until the accepted calls have ended, and records those that still
// run when ctx ends as interrupted. No request may come any more.
func (h *Handler) Shutdown(ctx context.Context) {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { h.cancel(errShutdown) })
	defer stop()
	h.work.Wait()
	h.cancel(errShutdown)
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r)
	case r.Method == http.MethodGet && isOwnEventID(r.Header.Get(headerLastEventID)):
		h.resume(w, r)
	case r.Method == http.MethodDelete:
		h.greetings.forget(r.Header.Get(headerSession))
		h.next.ServeHTTP(w, r)
	default:
		h.next.ServeHTTP(w, r)
	}
}

func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		http.Error(w, "the request could not be read, or is too large", http.StatusRequestEntityTooLarge)
		return
	}
	m, err := jsonrpc.Scan(body)
	switch {
	case err != nil && bytes.Contains(body, []byte(configMember)):
		writeMessage(w, http.StatusBadRequest, jsonrpc.AppendError(nil, jsonrpc.ID{}, errHidden))
	case err != nil:
		h.pass(w, r, body)
	case hasConfig(m):
		h.call(w, r, m, body)
	case m.Kind == jsonrpc.KindRequest && (m.Method == methodInitialize || m.Method == methodDiscover):
		h.greet(w, r, m, body)
	case m.Kind == jsonrpc.KindRequest && (m.Method == methodToolResult || m.Method == methodToolCancel):
		writeMessage(w, http.StatusOK, h.own(r, m))
	case m.Kind == jsonrpc.KindNotification && m.Method == methodCancelled:
		h.cancelled(r, m)
		h.pass(w, r, body)
	case m.Method == methodCallTool && bytes.Contains(m.Params, []byte(vendor)):
		h.pass(w, r, withMember(body, "params", withoutVendorMeta(m.Params)))
	default:
		h.pass(w, r, body)
	}
}

// pass hands a request on with a body that was read already.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	h.next.ServeHTTP(w, withBody(r.Context(), r, body))
}

// withBody is r with another body.
func withBody(ctx context.Context, r *http.Request, body []byte) *http.Request {
	out := r.Clone(ctx)
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.ContentLength = int64(len(body))
	out.TransferEncoding = nil
	out.Header.Del("Content-Length")
	return out
}

// greet passes a greeting and adds the capability to its response. The response
// must not come compressed.
func (h *Handler) greet(w http.ResponseWriter, r *http.Request, m jsonrpc.Message, body []byte) {
	out := withBody(r.Context(), r, body)
	out.Header.Del("Accept-Encoding")
	s := newSink(nil)
	s.began = func(status int, header http.Header) {
		if m.Method == methodInitialize {
			h.greetings.note(header.Get(headerSession), readGreeting(m))
		}
		copyHeader(w.Header(), header)
		w.Header().Del("Content-Length")
		if s.stream {
			w.WriteHeader(status)
		}
	}
	s.each = func(e event) {
		if e.message() {
			e.data = h.advertise(m.ID, e.data)
		}
		if !s.stream {
			w.Header().Set("Content-Length", strconv.Itoa(len(e.data)))
			w.WriteHeader(s.status)
			_, s.err = w.Write(e.data)
			return
		}
		s.err = errors.Join(s.err, e.writeTo(w))
		_ = http.NewResponseController(w).Flush() // a connection that cannot flush sends at the end
	}
	h.next.ServeHTTP(s, out)
	s.finish()
	if !s.stream && s.body.Len() == 0 {
		w.WriteHeader(s.status)
	}
}

// advertise adds the capability to the response to request id.
func (h *Handler) advertise(id jsonrpc.ID, message jsontext.Value) jsontext.Value {
	m, err := jsonrpc.Scan(message)
	if err != nil || m.Kind != jsonrpc.KindResponse || m.Error != nil || m.ID != id {
		return message
	}
	return withMember(message, "result", h.gate.advertise(m.Result))
}

func copyHeader(dst, src http.Header) {
	for name, values := range src {
		dst[name] = append([]string(nil), values...)
	}
}

// writeMessage answers a request with one message.
func writeMessage(w http.ResponseWriter, status int, message []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(message)))
	w.WriteHeader(status)
	_, _ = w.Write(message) // who has gone needs no answer
}
