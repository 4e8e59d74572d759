package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"

	"github.com/causeway-ahp/causeway/journal"
)

// Write implements journal.Store.
func (s *Store) Write(group []*journal.Record) error {
	if len(group) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &groupWriter{s: s, at: make(map[string]int), seen: make(map[uint64]uint64)}
	if err := s.ready(); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	w.last = max(s.last, group[len(group)-1].Seq)
	if err := s.reserve(w.last); err != nil {
		return fmt.Errorf("reserve numbers: %w", err)
	}
	w.known, w.lineage = make(map[string]row), s.lineage
	if err := s.transact(func(tx *sql.Tx) error { return w.write(tx, group) }); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	s.last, s.lineage = w.last, w.lineage
	maps.Copy(s.known, w.known)
	return nil
}

// ready opens the writer's connection again after a failure. The caller holds
// mu.
func (s *Store) ready() error {
	switch {
	case s.closed:
		return journal.ErrClosed
	case s.reader:
		return errors.New("opened for reading only")
	case s.write != nil:
		return nil
	}
	return s.openWriter()
}

// transact runs a transaction of the writer, whole or not at all. The caller
// holds mu. After a failure the connection is given up: the next transaction
// begins with a new one, and reads anew what the store knows by heart.
func (s *Store) transact(do func(tx *sql.Tx) error) error {
	if err := s.ready(); err != nil {
		return err
	}
	tx, err := s.write.Begin()
	if err != nil {
		return errors.Join(err, s.dropWriter())
	}
	if err = do(tx); err == nil {
		err = tx.Commit()
	} else {
		err = errors.Join(err, tx.Rollback())
	}
	if err != nil {
		return errors.Join(err, s.dropWriter())
	}
	return nil
}

// reserve makes numbers up to last ours, on the disk and synced, before any of
// them is shown to anybody.
func (s *Store) reserve(last uint64) error {
	upTo := journal.Reserve(last, s.opts.Block)
	if upTo <= s.reserved {
		return nil
	}
	if err := s.transact(func(tx *sql.Tx) error { return s.set(tx, "reserved", upTo) }); err != nil {
		return err
	}
	if err := s.Sync(); err != nil {
		return err
	}
	s.reserved = upTo
	return nil
}

// row is what the writer knows of a channel.
type row struct {
	id   int64 // 0: there is none
	born uint64
	open bool
}

// find returns the channel's row, the zero one if there is none.
func (s *Store) find(tx *sql.Tx, uri string) (r row, err error) {
	if r, ok := s.known[uri]; ok {
		return r, nil
	}
	err = tx.Stmt(s.stmts[findChannel]).QueryRow(uri).Scan(&r.id, &r.born, &r.open)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, nil
	}
	return r, err
}

// groupWriter writes one group. What it learns counts once the transaction is
// committed.
type groupWriter struct {
	s       *Store
	last    uint64
	lineage uint64
	known   map[string]row // what the group changed

	blocks []block
	at     map[string]int    // index in blocks by channel
	seen   map[uint64]uint64 // highest clientSeq by lineage
}

// block is the actions of one channel in a group.
type block struct {
	channel string
	records []*journal.Record
}

func (w *groupWriter) write(tx *sql.Tx, group []*journal.Record) error {
	for _, r := range group {
		if err := w.record(tx, r); err != nil {
			return err
		}
	}
	for i := range w.blocks {
		if err := w.flush(tx, &w.blocks[i]); err != nil {
			return err
		}
	}
	for lineage, high := range w.seen {
		if _, err := w.s.exec(tx, highClient, int64(high), int64(lineage)); err != nil {
			return err
		}
	}
	return w.s.set(tx, "last", w.last)
}

// record takes one record. Actions are collected; what they belong to is
// written at once, so that the order of making and ending a channel is kept.
func (w *groupWriter) record(tx *sql.Tx, r *journal.Record) (err error) {
	if r.Origin.Lineage != 0 && (r.Kind == journal.Action || r.Kind == journal.Mark) {
		w.seen[r.Origin.Lineage] = max(w.seen[r.Origin.Lineage], r.Origin.ClientSeq)
	}
	switch r.Kind {
	case journal.Action:
		w.collect(r)
	case journal.Created:
		err = w.create(tx, r)
	case journal.Removed:
		err = w.remove(tx, r)
	case journal.Joined:
		w.lineage = max(w.lineage, r.Origin.Lineage)
		_, err = w.s.exec(tx, putClient, r.Origin.ClientID, int64(r.Origin.Lineage), []byte(r.Body))
		err = errors.Join(err, w.s.set(tx, "lineage", w.lineage))
	case journal.Forgotten:
		_, err = w.s.exec(tx, dropClient, int64(r.Origin.Lineage))
	case journal.Noted:
		err = w.note(tx, r)
	}
	return err
}

func (w *groupWriter) collect(r *journal.Record) {
	i, ok := w.at[r.Channel]
	if !ok {
		i = len(w.blocks)
		w.at[r.Channel] = i
		w.blocks = append(w.blocks, block{channel: r.Channel})
	}
	w.blocks[i].records = append(w.blocks[i].records, r)
}

func (w *groupWriter) find(tx *sql.Tx, uri string) (row, error) {
	if r, ok := w.known[uri]; ok {
		return r, nil
	}
	r, err := w.s.find(tx, uri)
	if err == nil {
		w.known[uri] = r
	}
	return r, err
}

func (w *groupWriter) create(tx *sql.Tx, r *journal.Record) error {
	if old, err := w.find(tx, r.Channel); err != nil || old.id != 0 {
		return errors.Join(err, w.erase(tx, r.Channel, old))
	}
	birth := r.Birth
	if birth == nil {
		return nil
	}
	res, err := w.s.exec(tx, putChannel, r.Channel, birth.Parent, birth.CreatedAt, int64(r.Seq), int64(r.Seq), r.Open, len(r.Body), nil)
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	w.known[r.Channel] = row{id: id, born: r.Seq, open: r.Open}
	_, err = w.s.exec(tx, putImage, id, 0, journal.Checksum(r.Channel, r.Body), []byte(r.Body))
	return err
}

func (w *groupWriter) remove(tx *sql.Tx, r *journal.Record) error {
	old, err := w.find(tx, r.Channel)
	if err != nil || old.id == 0 {
		return err
	}
	return w.erase(tx, r.Channel, old)
}

// erase takes a channel out, with what of the group belongs to it.
func (w *groupWriter) erase(tx *sql.Tx, uri string, old row) error {
	if i, ok := w.at[uri]; ok {
		w.blocks[i].records = nil
	}
	w.known[uri] = row{}
	for _, st := range []statement{dropChannel, dropImage, dropBlocks, dropNotes} {
		if _, err := w.s.exec(tx, st, old.id); err != nil {
			return err
		}
	}
	_, err := w.s.exec(tx, dropItems, old.id*maxItems, (old.id+1)*maxItems)
	return err
}

func (w *groupWriter) note(tx *sql.Tx, r *journal.Record) error {
	ch, err := w.find(tx, r.Channel)
	if err != nil || ch.id == 0 {
		return err
	}
	if len(r.Body) == 0 {
		_, err = w.s.exec(tx, dropNote, ch.id, r.Note)
	} else {
		_, err = w.s.exec(tx, putNote, ch.id, r.Note, []byte(r.Body))
	}
	return err
}

// flush writes the actions of one channel. Those of a channel that the file does
// not know are of one that is not kept beyond the process.
func (w *groupWriter) flush(tx *sql.Tx, b *block) error {
	if len(b.records) == 0 {
		return nil
	}
	ch, err := w.find(tx, b.channel)
	if err != nil || ch.id == 0 {
		return err
	}
	first, last := b.records[0], b.records[len(b.records)-1]
	body := journal.AppendBlock(nil, b.channel, b.records)
	if _, err := w.s.exec(tx, putBlock, ch.id, int64(first.Seq), int64(last.Seq), body); err != nil {
		return err
	}
	if last.Open == ch.open {
		return nil
	}
	ch.open = last.Open
	w.known[b.channel] = ch
	_, err = w.s.exec(tx, openChannel, ch.open, ch.id)
	return err
}
