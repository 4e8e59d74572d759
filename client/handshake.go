package client

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// handshake is the request a connection begins with, while it is not answered.
type handshake struct {
	call    *jsonrpc.Pending
	resumes bool // reconnect, otherwise initialize
	names   bool // it names channels, so that the answer holds their states
}

// greet begins the handshake: reconnect when the host may know this client,
// initialize otherwise (AHP core, 8.1).
func (l *link) greet() error {
	c := l.c
	c.mu.Lock()
	resumes := c.known
	channels := c.subscribedLocked(resumes)
	params, method := any(c.initializeLocked(channels)), ahp.MethodInitialize
	if resumes {
		params, method = c.reconnectLocked(channels), ahp.MethodReconnect
	}
	c.mu.Unlock()
	call, err := l.rpc.Go(method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	l.handshake = &handshake{call: call, resumes: resumes, names: len(channels) > 0}
	return nil
}

func (c *Client) initializeLocked(channels []ahp.URI) ahp.InitializeParams {
	p := ahp.InitializeParams{
		Channel: ahp.RootURI, ProtocolVersions: c.opts.Versions, ClientID: c.opts.ClientID,
		ClientInfo: c.opts.Info, Capabilities: c.opts.Capabilities, InitialSubscriptions: channels,
	}
	if c.opts.Locale != "" {
		p.Locale = &c.opts.Locale
	}
	return p
}

func (c *Client) reconnectLocked(channels []ahp.URI) ahp.ReconnectParams {
	root, seen := ahp.RootURI, c.seenLocked()
	p := ahp.ReconnectParams{
		Channel: &root, ClientID: c.opts.ClientID, LastSeenServerSeq: &seen, Subscriptions: []jsontext.Value{},
		Windows: c.windowsLocked(channels),
	}
	for _, uri := range channels {
		quoted, _ := jsontext.AppendQuote(nil, uri)
		p.Subscriptions = append(p.Subscriptions, quoted)
	}
	return p
}

// seenLocked is the number up to which every resumable channel is complete: the
// highest one received, since numbers rise across channels, or the channel's
// snapshot where that is newer. A channel that was subscribed and then quiet is
// so resumed by replay and not from scratch. One channel's snapshot says nothing
// of the others: a host may still hold back what is older there.
func (c *Client) seenLocked() uint64 {
	seen, first := c.lastSeen, true
	for _, ch := range c.channels {
		if ch.phase != open || ch.windowed {
			continue // a windowed one has a number of its own
		}
		complete := max(c.lastSeen, ch.machine.Applied())
		if first || complete < seen {
			seen, first = complete, false
		}
	}
	return seen
}

// subscribedLocked lists the channels in use, in a stable order, unless they are
// to be fetched apart. Resumable ones are those whose state is complete up to
// lastSeen.
func (c *Client) subscribedLocked(resumable bool) []ahp.URI {
	if c.apart {
		return nil
	}
	var uris []ahp.URI
	for uri, ch := range c.channels {
		if ch.windowed && !resumable {
			continue // initialize knows only ordinary ones (AHP core, 12.3)
		}
		if ch.phase == open || ch.phase == stale && !resumable {
			uris = append(uris, uri)
		}
	}
	slices.Sort(uris)
	return uris
}

// shake moves the handshake on if its request was answered. It runs on the
// reader, between two messages.
func (l *link) shake() error {
	select {
	case <-l.handshake.call.Done():
	default:
		return nil
	}
	var again bool
	var err error
	if l.handshake.resumes {
		again, err = l.resumed()
	} else {
		err = l.initialized()
	}
	if again || err != nil {
		return err
	}
	l.handshake = nil
	l.offered(l.c.HostInfo())
	l.liveAt = time.Now()
	l.c.goLive(l)
	for i := range l.early {
		l.c.notified(&l.early[i])
	}
	l.early = nil
	return nil
}

// resumed takes the answer to reconnect. When the host refuses, initialize
// follows on the same connection, and the handshake goes on.
func (l *link) resumed() (again bool, err error) {
	var r reconnectResult
	err = l.handshake.call.Wait(l.ctx, &r)
	var refused *ahp.Error
	if errors.As(err, &refused) {
		l.c.forget()
		return true, l.greet()
	}
	if err == nil {
		err = l.c.resume(&r)
	}
	if err == nil {
		err = l.resumeWindows(&r)
	}
	if err != nil {
		// The host has taken the connection over; only a new one can begin anew.
		l.c.forget()
		return false, fmt.Errorf("reconnect: %w", err)
	}
	return false, nil
}

func (l *link) initialized() error {
	var r ahp.InitializeResult
	if err := l.handshake.call.Wait(l.ctx, &r); err != nil {
		return initializeError(err)
	}
	if !slices.Contains(l.c.opts.Versions, r.ProtocolVersion) {
		return Permanent(fmt.Errorf("initialize: the host chose version %q, which was not offered", r.ProtocolVersion))
	}
	l.c.begin(&r)
	return nil
}

// initializeError tells refusals that stay from those that may pass.
func initializeError(err error) error {
	err = fmt.Errorf("initialize: %w", err)
	for _, final := range []error{
		ahp.ErrUnsupportedProtocolVersion, ahp.ErrPermissionDenied,
		jsonrpc.ErrInvalidParams, jsonrpc.ErrMethodNotFound,
	} {
		if errors.Is(err, final) {
			return Permanent(err)
		}
	}
	return err
}

// forget makes the next handshake an initialize.
func (c *Client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}

// begin starts a new lineage from the answer to initialize.
func (c *Client) begin(r *ahp.InitializeResult) {
	states := readSnapshots(r.Snapshots)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.info, c.lastSeen = true, r, r.ServerSeq
	c.stats.Initializes++
	for _, ch := range c.channels {
		s, ok := states[ch.uri]
		switch {
		case ok:
			c.resetLocked(ch, s)
		case c.apart || ch.windowed:
			c.staleLocked(ch)
		default:
			c.goneLocked(ch, ErrChannelGone)
		}
	}
}

// reconnectResult is ahp.ReconnectResult with its envelopes still encoded.
type reconnectResult struct {
	Type      string           `json:"type"`
	Actions   []jsontext.Value `json:"actions"`
	Snapshots []ahp.Snapshot   `json:"snapshots"`
	Missing   []ahp.URI        `json:"missing"`

	Windows *ahp.WindowsResult `json:"windows"`
}

// resume continues the lineage from the answer to reconnect. Everything is read
// before anything changes: an answer that cannot be read changes nothing.
func (c *Client) resume(r *reconnectResult) error {
	switch r.Type {
	case ahp.ReconnectReplay:
		return c.replay(r)
	case ahp.ReconnectSnapshot:
		c.restore(r)
		return nil
	}
	return fmt.Errorf("unknown type %q of the result", r.Type)
}

// replay gives the missed envelopes the way live ones take, in order and before
// any live one (AHP core, 8.1).
func (c *Client) replay(r *reconnectResult) error {
	missed := make([]*incoming, 0, len(r.Actions))
	for _, params := range r.Actions {
		in, err := readEnvelope(params)
		if err != nil {
			return fmt.Errorf("replayed envelope: %w", err)
		}
		missed = append(missed, in)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Replays++
	for _, in := range missed {
		c.receiveLocked(in, true)
	}
	for _, ch := range c.channels {
		switch {
		case ch.phase == stale:
			c.staleLocked(ch)
		case ch.windowed: // see resumeWindows
		case slices.Contains(r.Missing, ch.uri):
			c.missingLocked(ch)
		default:
			c.settleLocked(ch, ch.machine.Replayed())
			ch.changedLocked()
		}
	}
	return nil
}

// restore replaces the states. A channel without a snapshot is missing, whether
// the host says so or not.
func (c *Client) restore(r *reconnectResult) {
	states := readSnapshots(r.Snapshots)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Snapshots++
	c.lastSeen = oldest(r.Snapshots, c.lastSeen)
	for _, ch := range c.channels {
		s, ok := states[ch.uri]
		switch {
		case ch.phase == stale:
			c.staleLocked(ch)
		case ch.windowed: // see resumeWindows
		case ok && !slices.Contains(r.Missing, ch.uri):
			c.resetLocked(ch, s)
		default:
			c.missingLocked(ch)
		}
	}
}

// oldest is the number up to which every snapshot is complete. It may be below
// the one before: a host that lost its numbers counts anew.
func oldest(snapshots []ahp.Snapshot, otherwise uint64) uint64 {
	if len(snapshots) == 0 {
		return otherwise
	}
	seq := snapshots[0].FromSeq
	for _, s := range snapshots[1:] {
		seq = min(seq, s.FromSeq)
	}
	return seq
}

// goLive opens the connection for everybody and sends what waited, in the order
// of its numbers: the host takes a lower one for a repetition.
func (c *Client) goLive(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	c.link = l
	if !c.closed {
		c.live.Store(l)
	}
	c.stats.Connections++
	c.setStatusLocked(Status{State: Live, Since: time.Now()})
	c.authenticateLocked(l)
	for _, d := range c.unsentLocked() {
		l.pushLocked(outgoing{msg: d.msg, dispatch: d})
	}
	if !c.oldestWrittenLocked().IsZero() { // the recovery of a windowed channel may bring its echo
		l.expectEchoLocked(echoPatience)
	}
	c.fetchStaleLocked(l)
	for list := range c.lists {
		list.refreshLocked(l)
	}
	c.registerLocked(l)
	c.opts.Log.Debug("connected", "client", c.opts.ClientID)
}

// unsentLocked lists the actions that were never written, oldest first.
func (c *Client) unsentLocked() []*Dispatch {
	var list []*Dispatch
	for _, ch := range c.channels {
		for _, d := range ch.dispatches {
			if d.msg != nil {
				list = append(list, d)
			}
		}
	}
	slices.SortFunc(list, func(a, b *Dispatch) int {
		if a.seq < b.seq {
			return -1
		}
		return 1
	})
	return list
}
