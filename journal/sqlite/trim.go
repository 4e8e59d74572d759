package sqlite

import (
	"database/sql"
	"fmt"
)

// trimBatch bounds the rows one transaction gives up, and freePages the pages
// it returns to the file system, so that writers do not wait long.
const (
	trimBatch = 2000
	freePages = 256
)

// Trim implements journal.Archive. It also returns free pages to the file
// system, a few at a time.
func (s *Store) Trim(upTo uint64) error {
	for {
		n, err := s.trimSome(upTo)
		if err != nil {
			return fmt.Errorf("trim journal: %w", err)
		}
		if n < trimBatch {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	if _, err := s.write.Exec(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", freePages)); err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	return nil
}

func (s *Store) trimSome(upTo uint64) (n int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.transact(func(tx *sql.Tx) error {
		if err := s.set(tx, "trimmed", upTo); err != nil {
			return err
		}
		res, err := s.exec(tx, trimBlocks, int64(upTo), trimBatch)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}
