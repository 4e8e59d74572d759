package sqlite

import (
	"database/sql"
	"fmt"
)

// statement names a statement of the writer. All are prepared when its
// connection opens: inside a transaction there is no second one to do it on.
type statement int

const (
	setMeta statement = iota
	findChannel
	putChannel
	openChannel
	saveChannel
	dropChannel
	putImage
	dropImage
	putItem
	dropItems
	putBlock
	dropBlocks
	putClient
	highClient
	dropClient
	putNote
	dropNote
	dropNotes
	putLost
	trimBlocks
	statements // how many there are
)

var queries = [statements]string{
	setMeta:     "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
	findChannel: "SELECT id, born, open FROM channel WHERE uri = ?",
	putChannel:  "INSERT INTO channel (uri, parent, createdAt, born, seq, open, size, summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	openChannel: "UPDATE channel SET open = ? WHERE id = ?",
	saveChannel: "UPDATE channel SET seq = ?, size = ?, summary = ? WHERE id = ?",
	dropChannel: "DELETE FROM channel WHERE id = ?",
	putImage:    "INSERT OR REPLACE INTO image (channel, items, sum, head) VALUES (?, ?, ?, ?)",
	dropImage:   "DELETE FROM image WHERE channel = ?",
	putItem:     "INSERT OR REPLACE INTO item (id, sum, body) VALUES (?, ?, ?)",
	dropItems:   "DELETE FROM item WHERE id >= ? AND id < ?",
	putBlock:    "INSERT INTO block (channel, first, last, body) VALUES (?, ?, ?, ?)",
	dropBlocks:  "DELETE FROM block WHERE channel = ?",
	putClient:   "INSERT OR REPLACE INTO client (id, lineage, seen, high, body) VALUES (?, ?, 0, 0, ?)",
	highClient:  "UPDATE client SET seen = 1, high = max(high, ?) WHERE lineage = ?",
	dropClient:  "DELETE FROM client WHERE lineage = ?",
	putNote:     "INSERT OR REPLACE INTO note (channel, name, body) VALUES (?, ?, ?)",
	dropNote:    "DELETE FROM note WHERE channel = ? AND name = ?",
	dropNotes:   "DELETE FROM note WHERE channel = ?",
	putLost:     "INSERT OR REPLACE INTO lost (first, last) VALUES (?, ?)",
	trimBlocks: `DELETE FROM block WHERE id IN (
		SELECT b.id FROM block b JOIN channel c ON c.id = b.channel
		WHERE b.last <= ? AND b.last <= c.seq ORDER BY b.id LIMIT ?)`,
}

func (s *Store) prepare() (err error) {
	for i, q := range queries {
		if s.stmts[i], err = s.write.Prepare(q); err != nil {
			return fmt.Errorf("prepare statement: %w", err)
		}
	}
	return nil
}

func (s *Store) exec(tx *sql.Tx, st statement, args ...any) (sql.Result, error) {
	return tx.Stmt(s.stmts[st]).Exec(args...)
}

func (s *Store) set(tx *sql.Tx, key string, value uint64) error {
	_, err := s.exec(tx, setMeta, key, int64(value))
	return err
}
