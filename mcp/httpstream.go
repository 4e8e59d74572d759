package mcp

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
)

const (
	// maxEnded and keepEnded bound the calls that are kept, after their end, for a
	// client that resumes its stream.
	maxEnded  = 256
	keepEnded = 5 * time.Minute
	// ownEvents begins the ids of events that can be resumed here.
	ownEvents = "cw_"
	// defaultRetry is how long to wait before a server's stream is taken up again.
	defaultRetry = time.Second
)

// serve writes the messages of the call after number n to the client until the call
// is over or the client has gone. Begin, if there is one, is called once the
// acknowledgement has been written: the tool starts after it.
func (c *httpCall) serve(w http.ResponseWriter, r *http.Request, n int, begin func()) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	if c.session != "" {
		header.Set(headerSession, c.session)
	}
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	if begin != nil && c.session != "" && r.Header.Get(headerVersion) >= versionPriming {
		_ = event{id: c.eventID(0)}.writePriming(w)
	}
	for {
		messages, number, changed, end := c.record.after(n)
		for i, m := range messages {
			n = number + i
			if err := (event{id: c.eventID(n), name: "message", data: m}).writeTo(w); err != nil && begin == nil {
				return
			}
		}
		_ = flush.Flush() // a connection that cannot flush sends at the end
		if begin != nil {
			begin()
			begin = nil
			continue
		}
		if len(messages) > 0 {
			continue
		}
		if end {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// eventID names a message for a client that comes back; the stateless era has none.
func (c *httpCall) eventID(n int) string {
	if c.session == "" {
		return ""
	}
	return ownEvents + c.ticket.callID() + "_" + strconv.Itoa(n)
}

// writePriming writes an event that has an id and no message: a client whose stream
// breaks before the first message can resume it (MCP 2025-11-25).
func (e event) writePriming(w http.ResponseWriter) error {
	_, err := fmt.Fprintf(w, "id: %s\ndata: \n\n", e.id)
	return err
}

func isOwnEventID(id string) bool { return strings.HasPrefix(id, ownEvents) }

// resume goes on with the stream of a call after an event.
func (h *Handler) resume(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.Header.Get(headerLastEventID), ownEvents)
	at := strings.LastIndexByte(id, '_')
	n, err := strconv.Atoi(id[at+1:])
	if at < 0 || err != nil || n < 0 {
		http.Error(w, "the event id is not one of this server", http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	c := h.calls[id[:at]]
	h.mu.Unlock()
	if c == nil || c.session != r.Header.Get(headerSession) {
		http.Error(w, "the stream is not held any more", http.StatusBadRequest)
		return
	}
	c.ticket.call.Attach()
	c.serve(w, r, n, nil)
	c.clientGone(r)
}

// register makes the call known to those who resume or cancel it. It is false once
// the handler is being shut down.
func (h *Handler) register(c *httpCall) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return false
	}
	h.calls[c.ticket.callID()] = c
	h.work.Add(1) // given back when run returns
	return true
}

// retire keeps a call that is over for a while.
func (h *Handler) retire(c *httpCall) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.retired = time.Now()
	h.ended = append(h.ended, c)
	for len(h.ended) > maxEnded || time.Since(h.ended[0].retired) > keepEnded {
		delete(h.calls, h.ended[0].ticket.callID())
		h.ended[0] = nil
		h.ended = h.ended[1:]
	}
}

// cancelled ends the call that a client cancels by a notification, which only
// sessions know. The notification goes to the server as well.
func (h *Handler) cancelled(r *http.Request, m jsonrpc.Message) {
	session := r.Header.Get(headerSession)
	id, err := jsonrpc.ParseID(memberAt(m.Params, "requestId"))
	if err != nil || session == "" {
		return
	}
	if c := h.find(session, id); c != nil {
		c.cancel()
	}
}

func (h *Handler) find(session string, id jsonrpc.ID) *httpCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.calls {
		if c.session == session && c.id == id && !c.ended.Load() {
			return c
		}
	}
	return nil
}

// again is the request that takes up the server's stream.
func (c *httpCall) again() *http.Request {
	r := ownRequest(c.request.Context(), c.request, "", nil)
	r.Method = http.MethodGet
	r.Header.Set(headerLastEventID, c.lastEventID)
	r.Header.Del("Content-Type")
	r.Header.Del(headerMethod)
	r.Body = http.NoBody
	return r
}

// pause waits before the server's stream is taken up again. It is false when that
// is not possible, or the call has ended.
func (c *httpCall) pause() bool {
	if c.session == "" || c.lastEventID == "" {
		return false
	}
	d := c.retry
	if d <= 0 {
		d = defaultRetry
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.over:
		return false
	}
}

// stateless reports whether a request belongs to the era without sessions.
func stateless(r *http.Request) bool { return r.Header.Get(headerVersion) >= versionStateless }

// refusalStatus is the status of a response that refuses a call (tool-call
// notifications, A-3).
func refusalStatus(r *http.Request) int {
	if stateless(r) {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// accepts reports whether the client takes a kind of content.
func accepts(r *http.Request, kind string) bool {
	for _, field := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(field, ",") {
			t, _, err := mime.ParseMediaType(strings.TrimSpace(part))
			if err == nil && (t == kind || t == "*/*" || t == "text/*") {
				return true
			}
		}
	}
	return false
}
