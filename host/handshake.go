package host

import (
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// initialize answers the handshake (AHP core, 4.1). The response and the
// initial subscriptions are one step of the sequencer.
func (c *Conn) initialize(m jsonrpc.Message) jsonrpc.Reply {
	var p ahp.InitializeParams
	if err := decodeParams(m, &p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	version, err := c.greet(&p)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	h := c.h
	h.seq.mu.Lock()
	l := h.lineages.startLocked(c, p.ClientID, version, time.Now())
	if l == nil {
		h.seq.mu.Unlock()
		return jsonrpc.Reply{Err: ahp.ErrPermissionDenied}
	}
	c.lineage = l
	opened, snaps := c.openAllLocked(p.InitialSubscriptions)
	result := h.welcome(version, h.seq.seq)
	c.answerLocked(m.ID, func() any {
		result.Snapshots = h.wireAll(snaps)
		return result
	}, func() { releaseAll(snaps) }, opened...)
	h.seq.mu.Unlock()
	c.live.Store(true)
	c.tellSubscribed(opened)
	h.log.Debug("client initialized", "conn", c.id, "client", p.ClientID, "version", version)
	return jsonrpc.Reply{Taken: true}
}

// greet checks an initialize before it changes anything.
func (c *Conn) greet(p *ahp.InitializeParams) (version string, err error) {
	switch {
	case c.live.Load():
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "the connection is initialized already")
	case normalRoot(p.Channel) != ahp.RootURI:
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "initialize belongs to channel %s", ahp.RootURI)
	case p.ClientID == "" || len(p.ClientID) > maxClientID:
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "clientId must have 1 to %d bytes", maxClientID)
	case len(p.InitialSubscriptions) > c.h.limits.SubscriptionsPerConn:
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "at most %d subscriptions", c.h.limits.SubscriptionsPerConn)
	}
	version, valid := ahp.Negotiate(p.ProtocolVersions)
	switch {
	case !valid:
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "protocolVersions holds no version")
	case version == "":
		c.failAfterFlush(CloseVersion)
		return "", ahp.UnsupportedVersions(ahp.SupportedRanges)
	}
	return version, nil
}

// maxClientID bounds a client's id, in bytes.
const maxClientID = 256

// welcome is the InitializeResult but for its snapshots.
func (h *Host) welcome(version string, seq uint64) *ahp.InitializeResult {
	style := "posix"
	r := &ahp.InitializeResult{
		ProtocolVersion: version, ServerSeq: seq, ServerInfo: &h.info,
		Environment: &ahp.Environment{PathStyle: &style},
		Extra:       h.members,
	}
	if h.defaultDirectory != "" {
		r.DefaultDirectory = &h.defaultDirectory
	}
	return r
}

// openAllLocked opens the channels that exist and may be seen; the others are
// left out (AHP core, 17, 7).
func (c *Conn) openAllLocked(uris []ahp.URI) (opened []*subscription, snaps []*snapshot) {
	for _, uri := range uris {
		ch := c.visibleLocked(normalRoot(uri))
		if ch == nil || c.subscribedLocked(ch) {
			continue
		}
		opened = append(opened, c.openLocked(ch))
		snaps = append(snaps, c.h.snapshotLocked(ch, wholeView))
	}
	return opened, snaps
}

// reconnect continues a lineage on a new connection (AHP core, 8). Replay or
// snapshots and the subscriptions are one step of the sequencer.
func (c *Conn) reconnect(m jsonrpc.Message) jsonrpc.Reply {
	var p ahp.ReconnectParams
	if err := decodeParams(m, &p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	want, err := c.wanted(&p)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	h := c.h
	h.seq.mu.Lock()
	l, err := h.lineages.findLocked(p.ClientID, c.principal, time.Now())
	if err != nil {
		h.seq.mu.Unlock()
		return jsonrpc.Reply{Err: err}
	}
	old := c.takeOverLocked(l)
	plan := c.planLocked(want)
	c.answerLocked(m.ID, plan.result, plan.release, plan.opened...)
	h.seq.mu.Unlock()
	if old != nil {
		old.fail(CloseReplaced, nil)
	}
	c.live.Store(true)
	c.tellSubscribed(plan.opened)
	for _, hooks := range h.registry.hooks {
		if hooks.Resumed != nil {
			hooks.Resumed(c)
		}
	}
	h.metrics.reconnects.WithLabelValues(plan.kind()).Inc()
	h.log.Debug("client reconnected", "conn", c.id, "client", p.ClientID, "by", plan.kind())
	return jsonrpc.Reply{Taken: true}
}

// takeOverLocked makes c the connection of the lineage. An older one is invalid
// from here on: what it still sends changes nothing.
func (c *Conn) takeOverLocked(l *lineage) (old *Conn) {
	old = l.conn
	if old != nil {
		old.invalid = true
	}
	l.conn, c.lineage = c, l
	return old
}

// wantedChannels is a reconnect request in either form.
type wantedChannels struct {
	after   uint64 // the connection-wide number
	cursors bool   // each channel has its own number; answer in that form
	list    []ahp.ChannelCursor
}

// wanted reads both forms of a reconnect's subscriptions.
func (c *Conn) wanted(p *ahp.ReconnectParams) (w wantedChannels, err error) {
	switch {
	case c.live.Load():
		return w, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "the connection is initialized already")
	case p.Channel != nil && normalRoot(*p.Channel) != ahp.RootURI:
		return w, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "reconnect belongs to channel %s", ahp.RootURI)
	case len(p.Subscriptions) > c.h.limits.SubscriptionsPerConn:
		return w, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "at most %d subscriptions", c.h.limits.SubscriptionsPerConn)
	}
	for _, raw := range p.Subscriptions {
		cursor, object, err := readSubscription(raw)
		if err != nil {
			return w, err
		}
		w.cursors = w.cursors || object
		w.list = append(w.list, cursor)
	}
	if w.cursors {
		return w, nil
	}
	if p.LastSeenServerSeq == nil {
		return w, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "lastSeenServerSeq is missing")
	}
	w.after = *p.LastSeenServerSeq
	for i := range w.list {
		w.list[i].LastSeenServerSeq = w.after
	}
	return w, nil
}

// readSubscription reads one entry: a URI, or an object with a cursor.
func readSubscription(raw jsontext.Value) (cursor ahp.ChannelCursor, object bool, err error) {
	if uri, ok := jsonrpc.StringValue(raw); ok {
		return ahp.ChannelCursor{Channel: normalRoot(uri)}, false, nil
	}
	if ahp.Unmarshal(raw, &cursor) != nil || cursor.Channel == "" {
		return cursor, false, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "subscriptions must hold URIs or {channel, lastSeenServerSeq}")
	}
	cursor.Channel = normalRoot(cursor.Channel)
	return cursor, true, nil
}

// plan is the answer to a reconnect, taken under the lock and encoded later.
type plan struct {
	h       *Host
	cursors bool
	opened  []*subscription
	missing []ahp.URI
	replay  []*journal.Record // with snaps nil: everything missed
	snaps   []*snapshot
}

// planLocked opens the wanted channels and decides between replay and
// snapshots.
func (c *Conn) planLocked(w wantedChannels) *plan {
	h := c.h
	p := &plan{h: h, cursors: w.cursors}
	after := make(map[ahp.URI]uint64, len(w.list))
	lowest := h.seq.seq
	for _, want := range w.list {
		ch := c.visibleLocked(want.Channel)
		if ch == nil || ch.scheme.Class != Shared {
			p.missing = append(p.missing, want.Channel)
			continue
		}
		if c.subscribedLocked(ch) {
			continue
		}
		p.opened = append(p.opened, c.openLocked(ch))
		after[ch.uri] = want.LastSeenServerSeq
		if want.LastSeenServerSeq > h.seq.seq { // numbered by a host that is gone
			lowest = 0
		}
		lowest = min(lowest, want.LastSeenServerSeq)
	}
	ahead := w.after > h.seq.seq
	for _, seq := range after {
		ahead = ahead || seq > h.seq.seq
	}
	records, size, complete := h.journal.Replay(lowest, func(r *journal.Record) bool {
		seq, ok := after[r.Channel]
		return ok && r.Seq > seq
	})
	if complete && !ahead && h.worthReplay(p.opened, size) {
		p.replay = records
		return p
	}
	p.snaps = make([]*snapshot, 0, len(p.opened))
	for _, s := range p.opened {
		p.snaps = append(p.snaps, h.snapshotLocked(s.ch, wholeView))
	}
	return p
}

// worthReplay decides whether a replay of size bytes is better than snapshots:
// always when it is short, and never when the log holds several times what the
// states can (every part of a state came with an action at least as large).
func (h *Host) worthReplay(subs []*subscription, size int) bool {
	if size <= h.limits.ReplayBytes {
		return true
	}
	state := 0
	for _, s := range subs {
		state += roughSize(s.ch.state)
	}
	return size <= 4*state
}

func (p *plan) kind() string {
	switch {
	case p.cursors:
		return "cursors"
	case p.snaps != nil:
		return ahp.ReconnectSnapshot
	}
	return ahp.ReconnectReplay
}

func (p *plan) release() { releaseAll(p.snaps) }

// result encodes the answer in the caller's form.
func (p *plan) result() any {
	switch {
	case p.cursors:
		return p.perChannel()
	case p.snaps != nil:
		return snapshotResult{Type: ahp.ReconnectSnapshot, Snapshots: p.h.wireAll(p.snaps), Missing: p.missing}
	}
	return replayResult{Type: ahp.ReconnectReplay, Actions: envelopes(p.replay), Missing: p.missing}
}

// snapshotResult is the snapshot variant; missing is an addition that older
// clients ignore.
type snapshotResult struct {
	Type      string         `json:"type"`
	Snapshots []ahp.Snapshot `json:"snapshots"`
	Missing   []ahp.URI      `json:"missing,omitzero"`
}

// replayResult is the replay variant, its envelopes encoded as they were.
type replayResult struct {
	Type    string           `json:"type"`
	Actions []jsontext.Value `json:"actions"`
	Missing []ahp.URI        `json:"missing"`
}

// channelResult is one outcome of the cursor form.
type channelResult struct {
	Kind     string           `json:"kind"`
	Channel  ahp.URI          `json:"channel"`
	Actions  []jsontext.Value `json:"actions,omitzero"`
	Snapshot *ahp.Snapshot    `json:"snapshot,omitzero"`
}

func (p *plan) perChannel() any {
	var out struct {
		Channels []channelResult `json:"channels"`
	}
	if p.snaps != nil {
		for _, s := range p.h.wireAll(p.snaps) {
			out.Channels = append(out.Channels, channelResult{Kind: ahp.ReconnectSnapshot, Channel: s.Resource, Snapshot: &s})
		}
	} else {
		byChannel := make(map[ahp.URI][]*journal.Record)
		for _, r := range p.replay {
			byChannel[r.Channel] = append(byChannel[r.Channel], r)
		}
		for _, s := range p.opened {
			actions := envelopes(byChannel[s.ch.uri])
			out.Channels = append(out.Channels, channelResult{Kind: ahp.ReconnectReplay, Channel: s.ch.uri, Actions: actions})
		}
	}
	for _, uri := range p.missing {
		out.Channels = append(out.Channels, channelResult{Kind: ahp.ReconnectMissing, Channel: uri})
	}
	return out
}

func envelopes(records []*journal.Record) []jsontext.Value {
	out := make([]jsontext.Value, 0, len(records))
	for _, r := range records {
		out = append(out, appendEnvelope(nil, r, ""))
	}
	return out
}
