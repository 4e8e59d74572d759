package session

import (
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
)

// roster knows the driver of every chat, from before its agent is opened until
// the chat or its session is disposed of.
type roster struct {
	// births makes a change of the roster and of the host's channels one step,
	// so that an agent that is being opened finds out that its session is gone,
	// also if there is another one with the same URI by then. The sequencer's
	// lock and mu are taken inside it.
	births sync.Mutex

	// mu guards what follows. It is held for no call of another package.
	mu       sync.Mutex
	chats    map[ahp.URI]*driver
	sessions map[ahp.URI]map[ahp.URI]*driver
	closed   bool
	wg       sync.WaitGroup // work outside of drivers
}

func newRoster() *roster {
	return &roster{chats: make(map[ahp.URI]*driver), sessions: make(map[ahp.URI]map[ahp.URI]*driver)}
}

// add registers a driver; it is false when the host is stopping.
func (r *roster) add(d *driver) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.chats[d.chat] = d
	if r.sessions[d.session] == nil {
		r.sessions[d.session] = make(map[ahp.URI]*driver)
	}
	r.sessions[d.session][d.chat] = d
	return true
}

// chat returns the driver of a chat, nil if there is none.
func (r *roster) chat(uri ahp.URI) *driver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chats[uri]
}

// has reports whether d is still registered.
func (r *roster) has(d *driver) bool { return r.chat(d.chat) == d }

// of returns the drivers of a session.
func (r *roster) of(session ahp.URI) []*driver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return values(r.sessions[session])
}

// all returns every driver.
func (r *roster) all() []*driver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return values(r.chats)
}

func values(m map[ahp.URI]*driver) []*driver {
	list := make([]*driver, 0, len(m))
	for _, d := range m {
		list = append(list, d)
	}
	return list
}

// dismiss takes drivers out and closes them in the background. The channel it
// returns is closed when they are. When the host is stopping that closes them.
func (r *roster) dismiss(drivers ...*driver) <-chan struct{} {
	done := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range drivers {
		r.removeLocked(d)
	}
	if r.closed {
		close(done)
		return done
	}
	r.wg.Go(func() {
		defer close(done)
		closeAll(drivers)
	})
	return done
}

func (r *roster) removeLocked(d *driver) {
	if r.chats[d.chat] != d {
		return
	}
	delete(r.chats, d.chat)
	delete(r.sessions[d.session], d.chat)
	if len(r.sessions[d.session]) == 0 {
		delete(r.sessions, d.session)
	}
}

// start runs work that stop waits for; it is false when the host is stopping.
func (r *roster) start(work func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.wg.Go(work)
	return true
}

// stop lets nothing more begin, ends every agent and waits for everything.
func (r *roster) stop() {
	r.mu.Lock()
	r.closed = true
	drivers := values(r.chats)
	r.mu.Unlock()
	closeAll(drivers)
	r.wg.Wait()
}

// closeAll closes drivers, all at the same time.
func closeAll(drivers []*driver) {
	var closing sync.WaitGroup
	for _, d := range drivers {
		closing.Go(d.close)
	}
	closing.Wait()
}
