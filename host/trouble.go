package host

import (
	"time"

	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// When the store refuses what it is given, the host degrades in the open. What
// was ordered stays in order and is not shown; the store is asked again until it
// takes everything, and then all goes on without a restart. Meanwhile nobody new
// is let in, nothing new is made, and a connection that has waited too long is
// closed, so that its client knows.

// patience is how long a store may refuse before anybody is told: short troubles
// pass by themselves.
const patience = time.Second

// Trouble is what keeps the host from storing anything, nil while it can. It is
// for whoever runs the host: it may name files.
func (h *Host) Trouble() *journal.Trouble { return h.journal.Trouble() }

// storing is nil while the host can store what happens, and otherwise the error
// for who asks for something that must be stored.
func (h *Host) storing() error {
	t := h.journal.Trouble()
	if t == nil || time.Since(t.Since) < patience {
		return nil
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "the host cannot store anything at the moment; its log says why, and it tries again")
}

// startWatch begins to look after connections that wait for the store.
func (h *Host) startWatch(store journal.Store) {
	if store != nil {
		h.wg.Go(h.watchLoop)
	}
}

func (h *Host) watchLoop() {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.closeStalled()
		case <-h.ctx.Done():
			return
		}
	}
}

// closeStalled ends the connections that wait for a store that has refused for
// too long.
func (h *Host) closeStalled() {
	t := h.journal.Trouble()
	if t == nil || time.Since(t.Since) < h.limits.StoreStall {
		return
	}
	h.mu.Lock()
	conns := h.connsLocked()
	h.mu.Unlock()
	for _, c := range conns {
		if c.out.stalled() {
			h.LimitReached(limitStall)
			c.fail(CloseStore, t.Err)
		}
	}
}

// stalled reports whether something waits for the store.
func (o *outbox) stalled() bool {
	committed := o.committed()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := o.head; i < len(o.direct); i++ {
		if o.direct[i].seq > committed {
			return true
		}
	}
	for _, s := range o.subs {
		if e := s.last.next.Load(); e != nil && e.seq > committed {
			return true
		}
	}
	return false
}
