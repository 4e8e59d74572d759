package mcp

import (
	"bytes"
	"mime"
	"net/http"
)

// sink takes the response of the server in place of the client's connection. It
// hands on each message as it comes.
type sink struct {
	// began is called once, before the first message; nil: nobody needs it.
	began func(status int, header http.Header)
	// each takes an event of a stream, or the body of a response that is JSON as
	// one event without a name.
	each func(event)

	header http.Header
	status int
	stream bool
	events eventParser
	body   bytes.Buffer
	err    error
}

func newSink(each func(event)) *sink { return &sink{header: make(http.Header), each: each} }

// Header implements http.ResponseWriter.
func (s *sink) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *sink) WriteHeader(status int) {
	if s.status != 0 || status < 200 {
		return
	}
	s.status = status
	kind, _, _ := mime.ParseMediaType(s.header.Get("Content-Type"))
	s.stream = kind == "text/event-stream" && status < 300
	if s.began != nil {
		s.began(status, s.header)
	}
}

// Write implements http.ResponseWriter.
func (s *sink) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	switch {
	case s.err != nil:
	case s.stream:
		s.err = s.events.feed(p, s.each)
	case s.body.Len()+len(p) > maxEventBytes:
		s.err = http.ErrContentLength
	default:
		s.body.Write(p)
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

// Flush implements http.Flusher: messages are handed on as they come.
func (s *sink) Flush() {}

// finish is called when the handler has returned.
func (s *sink) finish() {
	s.WriteHeader(http.StatusOK)
	if !s.stream && s.body.Len() > 0 && s.err == nil {
		s.each(event{data: s.body.Bytes()})
	}
}

// ok reports whether the server took the request.
func (s *sink) ok() bool { return s.status >= 200 && s.status < 300 }
