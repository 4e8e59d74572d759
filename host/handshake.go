package host

import (
	"bytes"
	"errors"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// initialize answers the handshake (AHP core, 4.1). The response and the
// initial subscriptions are one step of the sequencer.
func (c *Conn) initialize(m jsonrpc.Message) jsonrpc.Reply {
	var p ahp.InitializeParams
	if err := decodeParams(m, &p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	version, err := c.greet(&p)
	if errors.Is(err, ahp.ErrUnsupportedProtocolVersion) {
		return c.partWith(m.ID, err)
	}
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	h := c.h
	// What cannot be read is left out; who subscribes to it learns why.
	_ = h.loadAll(p.InitialSubscriptions)
	h.seq.mu.Lock()
	l := h.lineages.startLocked(c, p.ClientID, version, time.Now())
	if l == nil {
		h.seq.mu.Unlock()
		return jsonrpc.Reply{Err: ahp.ErrPermissionDenied}
	}
	c.continueLineage(l)
	h.joinedLocked(l)
	opened, snaps := c.openAllLocked(p.InitialSubscriptions)
	result := h.welcome(version, h.seq.seq)
	c.answerLocked(m.ID, func() ([]byte, error) { return appendWelcome(result, snaps) }, func() { releaseAll(snaps) }, opened...)
	h.seq.mu.Unlock()
	c.live.Store(true)
	c.handshakeOver()
	c.tellSubscribed(opened)
	c.logger().Debug("client initialized", "version", version, "transport", c.t.Kind(), "remote", c.t.RemoteAddr())
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
		c.h.LimitReached(limitSubscriptions)
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "at most %d subscriptions", c.h.limits.SubscriptionsPerConn)
	}
	version, valid := ahp.Negotiate(p.ProtocolVersions)
	switch {
	case !valid:
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "protocolVersions holds no version")
	case version == "":
		return "", ahp.UnsupportedVersions(ahp.SupportedRanges)
	}
	return version, nil
}

// partWith answers a client that speaks no version the host does, and closes the
// connection once the answer has left (AHP core, 4.2, 4).
func (c *Conn) partWith(id jsonrpc.ID, err error) jsonrpc.Reply {
	if c.send(jsonrpc.AppendError(nil, id, c.mapError(err))) == nil {
		c.failAfterFlush(CloseVersion, nil)
	}
	return jsonrpc.Reply{Taken: true}
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

// appendWelcome encodes the result with the snapshots in their place.
func appendWelcome(r *ahp.InitializeResult, snaps []*snapshot) ([]byte, error) {
	body, err := ahp.Marshal(r)
	if err != nil {
		return nil, err
	}
	// Before it stand a version and a number only, so the first one is it.
	head, tail, _ := bytes.Cut(body, []byte(`"snapshots":[]`))
	out, err := appendSnapshots(append(bytes.Clone(head), `"snapshots":`...), snaps)
	return append(out, tail...), err
}

// openAllLocked opens the channels that exist and may be seen; the others are
// left out (AHP core, 17, 7).
func (c *Conn) openAllLocked(uris []ahp.URI) (opened []*subscription, snaps []*snapshot) {
	for _, uri := range uris {
		ch := c.visibleLocked(normalRoot(uri))
		if ch == nil || ch.state == nil || c.subscribedLocked(ch) {
			continue
		}
		opened = append(opened, c.openLocked(ch))
		snaps = append(snaps, c.h.snapshotLocked(ch, c.see(wholeView)))
	}
	return opened, snaps
}
