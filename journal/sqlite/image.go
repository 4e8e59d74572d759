package sqlite

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/causeway-ahp/causeway/journal"
)

// maxItems bounds the items of one channel, so that they can share a key with
// it.
const maxItems = 1 << 20

// ErrTooLarge means that a state has more items than the file can keep.
var ErrTooLarge = errors.New("the channel has too many items")

// Save implements journal.Archive.
func (s *Store) Save(img *journal.Image) error {
	if img.Keep+len(img.Items) > maxItems {
		return fmt.Errorf("save %s: %w", img.Channel, ErrTooLarge)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.transact(func(tx *sql.Tx) error { return s.save(tx, img) }); err != nil {
		return fmt.Errorf("save %s: %w", img.Channel, err)
	}
	return nil
}

func (s *Store) save(tx *sql.Tx, img *journal.Image) error {
	ch, err := s.find(tx, img.Channel)
	if err != nil || ch.id == 0 || ch.born != img.Born {
		return err
	}
	base := ch.id * maxItems
	if _, err := s.exec(tx, dropItems, base+int64(img.Keep), base+maxItems); err != nil {
		return err
	}
	for i, body := range img.Items {
		if _, err := s.exec(tx, putItem, base+int64(img.Keep+i), journal.Checksum(img.Channel, body), []byte(body)); err != nil {
			return err
		}
	}
	if _, err := s.exec(tx, putImage, ch.id, img.Keep+len(img.Items), journal.Checksum(img.Channel, img.Head), []byte(img.Head)); err != nil {
		return err
	}
	var summary any
	if img.Summary != nil {
		summary = []byte(img.Summary)
	}
	_, err = s.exec(tx, saveChannel, int64(img.Seq), img.Size, summary, ch.id)
	return err
}

// Load implements journal.Archive. All of it is read in one transaction, so that
// an image and the actions behind it fit together.
func (s *Store) Load(channel string) (*journal.Image, []*journal.Record, error) {
	tx, err := s.read.Begin()
	if err != nil {
		return nil, nil, fmt.Errorf("load %s: %w", channel, err)
	}
	defer func() { _ = tx.Rollback() }()
	l := loader{tx: tx, img: &journal.Image{Channel: channel}}
	tail, err := l.load()
	if errors.Is(err, journal.ErrNoChannel) {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("load %s: %w", channel, err)
	}
	return l.img, tail, nil
}

// loader reads one channel.
type loader struct {
	tx  *sql.Tx
	id  int64
	img *journal.Image
}

func (l *loader) load() (tail []*journal.Record, err error) {
	i := l.img
	err = l.tx.QueryRow("SELECT id, parent, born, seq, open, size, summary FROM channel WHERE uri = ?", i.Channel).
		Scan(&l.id, &i.Parent, &i.Born, &i.Seq, &i.Open, &i.Size, (*[]byte)(&i.Summary))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, journal.ErrNoChannel
	}
	if err != nil {
		return nil, err
	}
	count, err := l.head()
	if err != nil {
		return nil, err
	}
	if err := l.items(count); err != nil {
		return nil, err
	}
	return l.tail()
}

func (l *loader) head() (items int, err error) {
	var sum uint32
	err = l.tx.QueryRow("SELECT items, sum, head FROM image WHERE channel = ?", l.id).Scan(&items, &sum, (*[]byte)(&l.img.Head))
	if errors.Is(err, sql.ErrNoRows) || err == nil && sum != journal.Checksum(l.img.Channel, l.img.Head) {
		return 0, fmt.Errorf("image: %w", journal.ErrDamaged)
	}
	return items, err
}

func (l *loader) items(count int) error {
	rows, err := l.tx.Query("SELECT id, sum, body FROM item WHERE id >= ? AND id < ? ORDER BY id", l.id*maxItems, (l.id+1)*maxItems)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var sum uint32
		var body []byte
		if err := rows.Scan(&id, &sum, &body); err != nil {
			return err
		}
		if id != l.id*maxItems+int64(len(l.img.Items)) || sum != journal.Checksum(l.img.Channel, body) {
			return fmt.Errorf("item %d: %w", len(l.img.Items), journal.ErrDamaged)
		}
		l.img.Items = append(l.img.Items, body)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(l.img.Items) != count {
		return fmt.Errorf("%d of %d items: %w", len(l.img.Items), count, journal.ErrDamaged)
	}
	return nil
}

// tail reads the actions the image does not know.
func (l *loader) tail() (tail []*journal.Record, err error) {
	rows, err := l.tx.Query("SELECT body FROM block WHERE channel = ? AND last > ? ORDER BY id", l.id, int64(l.img.Seq))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return nil, err
		}
		records, err := journal.DecodeBlock(l.img.Channel, body)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.Seq > l.img.Seq {
				tail = append(tail, r)
			}
		}
	}
	return tail, rows.Err()
}

// Note implements journal.Archive.
func (s *Store) Note(channel, name string) (body []byte, err error) {
	err = s.read.QueryRow("SELECT body FROM note JOIN channel ON channel.id = note.channel WHERE uri = ? AND name = ?", channel, name).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read note %s of %s: %w", name, channel, err)
	}
	return body, nil
}
