package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/causeway-ahp/causeway/journal"
	_ "modernc.org/sqlite" // the driver
)

// Options of a store. The zero value of a field means its default.
type Options struct {
	// Always syncs each transaction: nothing is lost with the power.
	Always bool
	// Block is how many numbers are reserved at a time. Default 1,048,576. A
	// crash skips at most so many.
	Block uint64
	// VFS names the SQLite file system to use, "" for the operating system's.
	VFS string
}

const (
	defaultBlock = 1 << 20
	// walPages is the length of the write-ahead log after which it is moved
	// into the file: 4,000 pages of 4 KiB are read in a few milliseconds after
	// a crash.
	walPages = 4000
	// busyMillis is how long a transaction waits for somebody else's lock.
	busyMillis = 250
)

// Store is a journal.Archive in a SQLite file. Its methods may be called
// concurrently.
type Store struct {
	path string
	opts Options
	// read serves Load, so that reading does not wait for the writer.
	read *sql.DB

	// mu is held for a transaction of the writer, and so for I/O: whoever takes
	// it may wait. Nothing is locked inside.
	mu    sync.Mutex
	write *sql.DB // one connection; nil after a failure, until it is opened again
	stmts [statements]*sql.Stmt

	// What the file says, as of the last transaction that was committed.
	known    map[string]row // channels by URI, as far as they were met
	reserved uint64         // numbers up to here are ours
	last     uint64         // the newest number
	lineage  uint64
	closed   bool
	reader   bool // there is no writer
}

var _ journal.Archive = (*Store)(nil)

// Open opens the file, makes it if it is not there and brings its schema up to
// date. The error wraps ErrNewer when a later version wrote it.
func Open(path string, opts Options) (*Store, error) {
	if opts.Block == 0 {
		opts.Block = defaultBlock
	}
	s := &Store{path: path, opts: opts}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	return s, nil
}

func (s *Store) open() (err error) {
	// 0600 from its first byte on: SQLite gives its other files the same mode.
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := s.openWriter(); err != nil {
		return err
	}
	if s.read, err = sql.Open("sqlite", s.dsn(false)); err != nil {
		return errors.Join(err, s.dropWriter())
	}
	s.read.SetMaxOpenConns(2)
	return errors.Join(s.syncDir())
}

// openWriter opens the connection that writes, and reads what the store must
// know by heart. The caller holds mu or is Open.
func (s *Store) openWriter() error {
	db, err := sql.Open("sqlite", s.dsn(true))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	s.write = db
	if err = migrate(db); err == nil {
		err = errors.Join(s.prepare(), s.remember())
	}
	if err != nil {
		return errors.Join(err, s.dropWriter())
	}
	return nil
}

// dropWriter gives the connection up, after a failure or at the end.
func (s *Store) dropWriter() error {
	if s.write == nil {
		return nil
	}
	err := s.write.Close() // closes its statements as well
	s.write, s.stmts, s.known = nil, [statements]*sql.Stmt{}, nil
	return err
}

// dsn names the file and how it is opened.
func (s *Store) dsn(writer bool) string {
	q := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyMillis), "cache_size(-8192)"}}
	if s.opts.VFS != "" {
		q.Set("vfs", s.opts.VFS)
	}
	if !writer {
		q.Add("_pragma", "query_only(1)")
		return "file:" + (&url.URL{Path: s.path}).EscapedPath() + "?" + q.Encode()
	}
	mode := "NORMAL"
	if s.opts.Always {
		mode = "FULL"
	}
	for _, p := range []string{
		"auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(" + mode + ")",
		fmt.Sprintf("wal_autocheckpoint(%d)", walPages), "journal_size_limit(33554432)", "temp_store(MEMORY)",
	} {
		q.Add("_pragma", p)
	}
	q.Set("_txlock", "immediate")
	return "file:" + (&url.URL{Path: s.path}).EscapedPath() + "?" + q.Encode()
}

// remember reads the numbers the writer goes on from.
func (s *Store) remember() error {
	s.known = make(map[string]row)
	for key, to := range map[string]*uint64{"reserved": &s.reserved, "last": &s.last, "lineage": &s.lineage} {
		err := s.write.QueryRow("SELECT value FROM meta WHERE key = ?", key).Scan(to)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("read %s: %w", key, err)
		}
	}
	return nil
}

// Sync implements journal.Store. A checkpoint of SQLite syncs by itself, so what
// is left is the write-ahead log; it is synced without SQLite, which would make
// writers wait.
func (s *Store) Sync() error {
	return syncFile(s.path + "-wal")
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // everything is in the file itself
	}
	if err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	return nil
}

// syncDir makes the files themselves survive the loss of power.
func (s *Store) syncDir() error {
	d, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close implements journal.Store: the end is noted as an orderly one.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if s.reader {
		s.closed = true
		return s.read.Close()
	}
	err := s.transact(func(tx *sql.Tx) error { return s.set(tx, "reserved", s.last) })
	s.closed = true
	err = errors.Join(err, s.Sync(), s.dropWriter(), s.read.Close())
	if err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}
