package session

// errand is work of which one run is enough for all requests made before it
// began: whoever asks while it runs makes it run once more. So its queue is one
// bit, and it never runs twice at a time. The driver's lock guards it.
type errand struct {
	running, again bool
}

// send asks for a run of work. It is false when the driver is closed.
func (d *driver) send(e *errand, work func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	e.again = true
	if !e.running {
		e.running = true
		d.wg.Go(func() { d.errandLoop(e, work) })
	}
	return true
}

func (d *driver) errandLoop(e *errand, work func()) {
	for d.wanted(e) {
		work()
	}
}

// wanted reports whether the errand is to run, and otherwise ends it.
func (d *driver) wanted(e *errand) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.running = e.again && !d.closed
	e.again = false
	return e.running
}
