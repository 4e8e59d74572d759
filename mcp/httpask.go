package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// httpRefusal is a response of the server that is no message, such as a demand for
// authorization. The client gets it in place of an answer.
type httpRefusal struct {
	status int
	header http.Header
	body   []byte
}

// Error implements error.
func (e *httpRefusal) Error() string {
	return fmt.Sprintf("the server answered with status %d", e.status)
}

func (e *httpRefusal) writeTo(w http.ResponseWriter) {
	copyHeader(w.Header(), e.header)
	w.Header().Del("Content-Length")
	w.WriteHeader(e.status)
	_, _ = w.Write(e.body)
}

// ask returns how to ask the server in the name of a client's request: with its
// session, its version and its authorization.
func (h *Handler) ask(r *http.Request) ask {
	return func(ctx context.Context, method string, params jsontext.Value) (jsonrpc.Message, error) {
		id, err := jsonrpc.ParseID(quote("causeway-" + rand.Text()))
		if err != nil {
			return jsonrpc.Message{}, err
		}
		var answer *jsonrpc.Message
		s := newSink(func(e event) {
			if m, err := jsonrpc.Scan(e.data); err == nil && m.Kind == jsonrpc.KindResponse && m.ID == id {
				answer = &m
			}
		})
		if err := h.forward(s, ownRequest(ctx, r, method, jsonrpc.AppendRequest(nil, id, method, params))); err != nil {
			return jsonrpc.Message{}, err
		}
		switch {
		case answer != nil:
			return *answer, nil
		case s.ok():
			return jsonrpc.Message{}, errNoResponse
		}
		return jsonrpc.Message{}, &httpRefusal{status: s.status, header: s.header, body: s.body.Bytes()}
	}
}

var errNoResponse = fmt.Errorf("the server closed the stream without a response")

// ownRequest is a request of ours that goes the way of r.
func ownRequest(ctx context.Context, r *http.Request, method string, message []byte) *http.Request {
	out := withBody(ctx, r, message)
	out.Header.Del("Accept-Encoding")
	out.Header.Del(headerName)
	maps.DeleteFunc(out.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Mcp-Param-") })
	if out.Header.Get(headerMethod) != "" {
		out.Header.Set(headerMethod, method)
	}
	return out
}

// forward runs the server's handler. A handler that gives up in the middle, as a
// reverse proxy does by a panic when its server breaks off, is an error.
func (h *Handler) forward(s *sink, r *http.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the server broke off: %v", v)
		}
	}()
	h.next.ServeHTTP(s, r)
	s.finish()
	return s.err
}
