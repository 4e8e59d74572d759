package host

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
)

// mortal is an archive whose host can be killed.
type mortal struct {
	*journal.Memory

	mu     sync.Mutex
	dead   bool     // nothing reaches the file any more
	power  bool     // what is written now is lost with the next kill
	broken []string // channels that cannot be read
}

func newMortal() *mortal { return &mortal{Memory: journal.NewMemory(100)} }

var errDead = errors.New("the process was killed")

func (m *mortal) Write(group []*journal.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.dead:
		return errDead
	case m.power:
		return nil
	}
	return m.Memory.Write(group)
}

func (m *mortal) Save(img *journal.Image) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || m.power {
		return errDead
	}
	return m.Memory.Save(img)
}

func (m *mortal) Load(channel string) (*journal.Image, []*journal.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.broken, channel) {
		return nil, nil, errors.New("input/output error")
	}
	return m.Memory.Load(channel)
}

func (m *mortal) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil
	}
	return m.Memory.Close()
}

// restart ends the host and starts another one on the same archive. A host that
// is killed writes nothing down at its end.
func (w *world) restart(kill bool) error {
	w.kept.mu.Lock()
	w.kept.dead = kill
	w.kept.mu.Unlock()
	err := w.h.Shutdown(context.Background())
	w.kept.mu.Lock()
	w.kept.dead, w.kept.power = false, false
	w.kept.mu.Unlock()
	if err != nil {
		return err
	}
	w.h, err = New(w.t.Context(), w.opts)
	return err
}

// unfinished lists what the host was told to close.
func (w *world) unfinished() []ahp.URI { return w.h.Unfinished(ahp.KindChat) }
