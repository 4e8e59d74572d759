package host

import (
	"errors"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/flow"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// Ways in which a client breaks windowed delivery, beside those package flow
// finds.
var (
	errEarly  = errors.New("data before the subscription")
	errFrame  = errors.New("a frame without text")
	errJoined = errors.New("too much in frames that are not complete")
	errCredit = errors.New("a credit that is not an integer")
)

// errSubscribed refuses a second subscribe that is, or would be, windowed (AHP
// core, 17, 8).
var errSubscribed = jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the channel is subscribed already: unsubscribe first")

// receiveLimits is what the host is ready to receive on each windowed
// subscription.
func (h *Host) receiveLimits() flow.Limits {
	return flow.Limits{WindowBytes: h.limits.WindowBytes, MaxFrameBytes: h.limits.WindowFrameBytes}
}

// lower answers an offer (AHP core, 12.3): never more than the host would use,
// and enough for frames of the channel.
func (h *Host) lower(offer *ahp.FlowControlOffer, uri ahp.URI) (flow.Limits, error) {
	limits, err := flow.Lower(flow.Limits{
		WindowBytes: offer.Receive.WindowBytes, MaxFrameBytes: offer.Receive.MaximumFrameBytes,
	}, h.receiveLimits())
	switch {
	case err != nil:
		return limits, jsonrpc.Errorf(jsonrpc.CodeInvalidParams,
			"flowControl.receive needs windowBytes >= %d and maximumFrameBytes >= %d", flow.MinWindowBytes, flow.MinFrameBytes)
	case !fitsFrames(uri, limits.MaxFrameBytes):
		return limits, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "maximumFrameBytes leaves no room beside the channel's URI")
	}
	return limits, nil
}

// answerWindowed queues the answer that opens w; its data leaves behind it.
func (c *Conn) answerWindowed(id jsonrpc.ID, it item, w *windowed) error {
	limits := w.limits()
	body, err := ahp.Marshal(ahp.SubscribeResult{FlowControl: &limits})
	if err != nil { // numbers always encode
		return err
	}
	it.msg = jsonrpc.AppendResult(nil, id, body)
	it.opens = []*windowed{w}
	c.pushLocked(it)
	return nil
}

// subscribeWindowedLocked answers a subscribe that is, or meets, a windowed one.
func (c *Conn) subscribeWindowedLocked(m jsonrpc.Message, p *ahp.SubscribeParams, ch *channel, old *subscription) ([]*subscription, error) {
	if old != nil {
		return nil, errSubscribed
	}
	toClient, err := c.h.lower(p.FlowControl, ch.uri)
	if err != nil {
		return nil, err
	}
	s := c.openWindowedLocked(ch, toClient, viewOf(p.View))
	s.win.snap = c.h.snapshotLocked(ch, s.win.view)
	limits := s.win.w.limits()
	c.answerLocked(m.ID, func() ([]byte, error) { return ahp.Marshal(ahp.SubscribeResult{FlowControl: &limits}) }, nil, s)
	return []*subscription{s}, nil
}

// closeDraining ends a windowed subscription whose channel is gone and which still
// sends what came before that.
func (c *Conn) closeDraining(uri ahp.URI) {
	if w := c.out.window([]byte(uri)); w != nil {
		c.closeWindowed(w.src.(*logSource)) // a private one would have been found before
	}
}
