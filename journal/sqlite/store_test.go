package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/causeway-ahp/causeway/internal/archive"
	"github.com/causeway-ahp/causeway/journal"
)

// fileWorld opens one file again and again. A store that is not closed is left
// as a killed process leaves it: no more of it is written.
type fileWorld struct{ path string }

func (w fileWorld) Open(t *testing.T) journal.Archive {
	t.Helper()
	s, err := Open(w.path, Options{Block: archive.Block})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.abandon() })
	return s
}

// abandon gives a store's files up without an orderly end.
func (s *Store) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		_ = s.dropWriter()
		_ = s.read.Close()
	}
}

func TestContract(t *testing.T) {
	archive.Contract(t, func(t *testing.T) archive.World { return fileWorld{filepath.Join(t.TempDir(), "journal.db")} })
}

// makeVersion makes a file of an older schema.
func makeVersion(path string, version int) error {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	for v := range version {
		if err := step(db, v); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	return db.Close()
}
