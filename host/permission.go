package host

// PolicyChanged makes the host follow a policy that answers differently now. A
// connection that follows a channel it may not see any more is closed: it
// reconnects, and finds the channel missing (AHP core, 17, 13). Everything else
// asks the policy each time.
func (h *Host) PolicyChanged() {
	h.mu.Lock()
	conns := h.connsLocked()
	h.mu.Unlock()
	for _, c := range conns {
		if c.followsForbidden() {
			c.fail(CloseDenied, nil)
		}
	}
}

func (c *Conn) followsForbidden() bool {
	c.h.seq.mu.Lock()
	defer c.h.seq.mu.Unlock()
	for uri := range c.subs {
		if !c.h.policy.Allow(c.principal, OpSee, uri) {
			return true
		}
	}
	return false
}
