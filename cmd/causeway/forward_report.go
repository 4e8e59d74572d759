package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// forwardReport tells what a forwarder does: people on standard error, with a live
// line on a terminal, programs on standard output as JSON.
type forwardReport struct {
	out    io.Writer // of JSON; nil without
	errs   io.Writer
	style  style
	mu     sync.Mutex // guards everything below and all writing
	lastID int64
	open   map[*forwardEntry]struct{}
	total  int64
	sent   int64 // by connections that have ended
	recv   int64
	lost   bool
	said   map[string]time.Time // troubles, and when they were told
	line   string               // the live line as it stands
	before tally
}

// forwardEntry is a connection that is open.
type forwardEntry struct {
	id          int64
	far         *client.TCPConn
	listen      string
	destination string
}

// tally is what was carried up to a moment.
type tally struct {
	at         time.Time
	sent, recv int64
}

// forwardEvent is one line of --json.
type forwardEvent struct {
	Event       string `json:"event"`
	ID          int64  `json:"id,omitzero"`
	Listen      string `json:"listen,omitzero"`
	Peer        string `json:"peer,omitzero"`
	Destination string `json:"destination,omitzero"`
	Socks       bool   `json:"socks,omitzero"`
	Sent        *int64 `json:"sent,omitzero"`
	Received    *int64 `json:"received,omitzero"`
	Reason      string `json:"reason,omitzero"`
	Error       string `json:"error,omitzero"`
}

// repeatAfter is how long the same trouble is not told again.
const repeatAfter = time.Minute

// maxSaid bounds the troubles that are remembered.
const maxSaid = 1000

func newForwardReport(cmd *cobra.Command, asJSON bool) *forwardReport {
	r := &forwardReport{
		errs: cmd.ErrOrStderr(), style: styleOf(cmd.ErrOrStderr()),
		open: make(map[*forwardEntry]struct{}), said: make(map[string]time.Time),
	}
	if asJSON {
		r.out = cmd.OutOrStdout()
	}
	return r
}

func (r *forwardReport) listening(ln forwardListener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := ln.Addr().String()
	e := forwardEvent{Event: "listening", Listen: at, Socks: ln.spec.socks()}
	if !ln.spec.socks() {
		e.Destination = ln.spec.destination()
	}
	r.emit(e)
	r.say(fmt.Sprintf("%s -> %s", r.style.bold(at), ln.spec.destination()))
}

func (r *forwardReport) opened(spec forwardSpec, peer net.Addr, destination string, far *client.TCPConn) *forwardEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastID++
	r.total++
	e := &forwardEntry{id: r.lastID, far: far, listen: spec.bind, destination: destination}
	r.open[e] = struct{}{}
	r.emit(forwardEvent{Event: "opened", ID: e.id, Listen: spec.bind, Peer: peer.String(), Destination: destination})
	return e
}

func (r *forwardReport) closed(e *forwardEntry, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, e)
	sent, recv := e.far.Transferred()
	r.sent += sent
	r.recv += recv
	event := forwardEvent{Event: "closed", ID: e.id, Sent: &sent, Received: &recv}
	if err != nil {
		event.Reason, event.Error = endReason(err), err.Error()
	}
	r.emit(event)
}

// endReason is the word for how a connection broke.
func endReason(err error) string {
	switch {
	case errors.Is(err, client.ErrConnectionLost):
		return "lost"
	case errors.Is(err, client.ErrReset):
		return "reset"
	}
	return "aborted" // by the local program
}

func (r *forwardReport) refused(spec forwardSpec, destination string, err error) {
	text := dialTrouble(destination, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emit(forwardEvent{Event: "refused", Listen: spec.bind, Destination: destination, Reason: refusalReason(err), Error: text})
	r.complain(text)
}

// refusalReason is the word for why a destination was not reached.
func refusalReason(err error) string {
	switch {
	case errors.Is(err, ahp.ErrPermissionDenied):
		return "denied"
	case errors.Is(err, ahp.ErrTCPConnectionOpenFailed):
		return "failed"
	case errors.Is(err, client.ErrConnectionLost), errors.Is(err, context.DeadlineExceeded):
		return "unreachable"
	}
	return "error"
}

// trouble tells people of what concerns no destination.
func (r *forwardReport) trouble(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complain(text)
}

// status follows the connection to the host.
func (r *forwardReport) status(s client.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case s.State == client.Reconnecting && !r.lost:
		r.lost = true
		r.emit(forwardEvent{Event: "disconnected", Error: s.Err.Error()})
		r.say(r.style.yellow("connection to the host lost; its connections are reset, and the ports stay open"))
	case s.State == client.Live && r.lost:
		r.lost = false
		r.emit(forwardEvent{Event: "connected"})
		r.say("connected again")
	}
}

func (r *forwardReport) emit(e forwardEvent) {
	if r.out == nil {
		return
	}
	if line, err := json.Marshal(e); err == nil { // strings and numbers always encode
		_, _ = r.out.Write(append(line, '\n')) // a closed pipe ends the program by its signal
	}
}

// complain says a trouble, unless it was said a moment ago.
func (r *forwardReport) complain(text string) {
	now := time.Now()
	if at, ok := r.said[text]; ok && now.Sub(at) < repeatAfter {
		return
	}
	if len(r.said) >= maxSaid {
		clear(r.said)
	}
	r.said[text] = now
	r.say(r.style.red(printable(text)))
}

// say prints a line above the live one.
func (r *forwardReport) say(text string) {
	r.wipe()
	fmt.Fprintln(r.errs, text)
	r.show(r.line)
}

func (r *forwardReport) wipe() {
	if r.line != "" {
		_, _ = io.WriteString(r.errs, "\r\x1b[K")
	}
}

func (r *forwardReport) show(line string) {
	r.line = line
	_, _ = io.WriteString(r.errs, line)
}

// drawInterval is how often the live line moves.
const drawInterval = 500 * time.Millisecond

// draw keeps the live line until ctx ends. Off a terminal there is none.
func (r *forwardReport) draw(ctx context.Context) {
	if !r.style.on {
		return
	}
	tick := time.NewTicker(drawInterval)
	defer tick.Stop()
	for {
		r.mu.Lock()
		if line := r.liveLine(time.Now()); line != r.line {
			r.wipe()
			r.show(line)
		}
		r.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// liveLine is the state in a few words that fit a narrow terminal.
func (r *forwardReport) liveLine(now time.Time) string {
	t := tally{at: now, sent: r.sent, recv: r.recv}
	for e := range r.open {
		sent, recv := e.far.Transferred()
		t.sent += sent
		t.recv += recv
	}
	var up, down float64
	if seconds := t.at.Sub(r.before.at).Seconds(); seconds > 0 && !r.before.at.IsZero() {
		up, down = float64(t.sent-r.before.sent)/seconds, float64(t.recv-r.before.recv)/seconds
	}
	r.before = t
	host := ""
	if r.lost {
		host = r.style.yellow("no host · ")
	}
	return host + r.style.dim(fmt.Sprintf("%d open, %d in all · ↑ %s (%s/s) · ↓ %s (%s/s)",
		len(r.open), r.total, byteText(float64(t.sent)), byteText(up), byteText(float64(t.recv)), byteText(down)))
}

// end takes the live line away.
func (r *forwardReport) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wipe()
	r.line = ""
}

// byteText is a number of bytes for people.
func byteText(n float64) string {
	for _, unit := range []string{"B", "KB", "MB", "GB"} {
		if n < 1000 {
			if unit == "B" || n >= 100 {
				return fmt.Sprintf("%.0f %s", n, unit)
			}
			return fmt.Sprintf("%.1f %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.1f TB", n)
}
