package sqlite

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/causeway-ahp/causeway/journal"
)

// Recover implements journal.Archive.
func (s *Store) Recover(records, bytes int) (*journal.Recovery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &journal.Recovery{Lineage: s.lineage}
	err := s.goOn(r)
	if err == nil {
		err = errors.Join(s.channels(r), s.clients(r), s.newest(r, records, bytes))
	}
	if err != nil {
		return nil, fmt.Errorf("recover journal: %w", err)
	}
	return r, nil
}

// goOn decides with which number to go on. After an orderly end that is the
// next; otherwise it lies behind the block, as numbers of it may have been shown
// and lost with the power.
func (s *Store) goOn(r *journal.Recovery) error {
	r.Seq = s.last
	if s.reserved > s.last {
		lost := journal.Range{First: s.last + 1, Last: s.reserved}
		r.Seq = s.reserved + 1
		err := s.transact(func(tx *sql.Tx) error {
			_, err := s.exec(tx, putLost, int64(lost.First), int64(lost.Last))
			return errors.Join(err, s.set(tx, "last", r.Seq))
		})
		if err != nil {
			return err
		}
		s.last = r.Seq
	}
	if err := s.reserve(r.Seq); err != nil {
		return err
	}
	return s.each("SELECT first, last FROM lost ORDER BY first", func(rows *sql.Rows) error {
		var g journal.Range
		err := rows.Scan(&g.First, &g.Last)
		r.Lost = append(r.Lost, g)
		return err
	})
}

// each calls visit with every row.
func (s *Store) each(query string, visit func(rows *sql.Rows) error, args ...any) error {
	rows, err := s.write.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *Store) channels(r *journal.Recovery) error {
	newest := make(map[int64]uint64)
	err := s.each("SELECT channel, max(last) FROM block GROUP BY channel", func(rows *sql.Rows) error {
		var id int64
		var last uint64
		err := rows.Scan(&id, &last)
		newest[id] = last
		return err
	})
	if err != nil {
		return err
	}
	return s.each("SELECT id, uri, parent, createdAt, born, seq, open, size, summary FROM channel ORDER BY parent <> '', id", func(rows *sql.Rows) error {
		var id int64
		var e journal.Entry
		err := rows.Scan(&id, &e.Channel, &e.Parent, &e.CreatedAt, &e.Born, &e.Seq, &e.Open, &e.Size, (*[]byte)(&e.Summary))
		e.Last = newest[id]
		r.Channels = append(r.Channels, e)
		return err
	})
}

func (s *Store) clients(r *journal.Recovery) error {
	return s.each("SELECT id, lineage, seen, high, body FROM client ORDER BY lineage", func(rows *sql.Rows) error {
		var c journal.Client
		err := rows.Scan(&c.ID, &c.Lineage, &c.Seen, &c.High, (*[]byte)(&c.Body))
		r.Clients = append(r.Clients, c)
		return err
	})
}

// errFull ends the reading of blocks.
var errFull = errors.New("full")

// newest reads blocks backwards until a bound is reached, or one that is
// damaged: nothing before that can be replayed, and whoever asks gets snapshots.
func (s *Store) newest(r *journal.Recovery, records, bytes int) error {
	err := s.write.QueryRow("SELECT value FROM meta WHERE key = 'trimmed'").Scan(&r.Oldest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	size, unread := 0, int64(0)
	err = s.each("SELECT block.id, uri, body FROM block JOIN channel ON channel.id = block.channel ORDER BY block.id DESC", func(rows *sql.Rows) error {
		var uri string
		var body []byte
		if err := rows.Scan(&unread, &uri, &body); err != nil {
			return err
		}
		if len(r.Newest) >= records || size >= bytes {
			return errFull
		}
		list, err := journal.DecodeBlock(uri, body)
		if err != nil {
			return errFull
		}
		unread = 0
		r.Newest, size = append(r.Newest, list...), size+len(body)
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return err
	}
	if unread > 0 {
		// The blocks of a group share a range of numbers, so the newest of what
		// was not read decides. The index has all it takes.
		var last uint64
		err := s.write.QueryRow("SELECT max(last) FROM block INDEXED BY block_channel WHERE id <= ?", unread).Scan(&last)
		if err != nil {
			return err
		}
		r.Oldest = max(r.Oldest, last)
	}
	r.Newest = above(r.Newest, r.Oldest)
	return nil
}

// above sorts records and cuts off those up to a number.
func above(list []*journal.Record, oldest uint64) []*journal.Record {
	slices.SortFunc(list, func(a, b *journal.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	i, _ := slices.BinarySearchFunc(list, oldest+1, func(r *journal.Record, n uint64) int { return cmp.Compare(r.Seq, n) })
	return list[i:]
}
