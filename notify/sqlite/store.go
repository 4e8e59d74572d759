package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/causeway-ahp/causeway/notify"
	_ "modernc.org/sqlite" // the driver
)

// version is the layout of the file, kept in its user_version.
const version = 1

const (
	busyMillis = 10_000 // how long one process waits for another's transaction
	readers    = 4      // connections that read
	queueBound = 1024   // updates that wait for the writer; more wait outside
)

// Store is a notify.Store in a file.
type Store struct {
	read    *sql.DB
	write   *sql.DB
	readers chan *conn // those that nobody reads with
	updates chan *update
	closing chan struct{} // closed by Close
	done    chan struct{} // closed when the writer has ended
	once    sync.Once
	closed  error
}

// Open opens a file, or makes it, readable by this user alone.
func Open(ctx context.Context, path string) (*Store, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the notification store: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open the notification store: %w", err)
	}
	s := &Store{readers: make(chan *conn, readers), updates: make(chan *update, queueBound), closing: make(chan struct{}), done: make(chan struct{})}
	if s.write, err = sql.Open("sqlite", dsn(path, "immediate")); err == nil {
		s.write.SetMaxOpenConns(1)
		s.read, err = sql.Open("sqlite", dsn(path, "deferred"))
	}
	if err == nil {
		s.read.SetMaxOpenConns(readers)
		err = s.prepare(ctx)
	}
	for range readers {
		if err == nil {
			err = s.addReader(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the notification store %s: %w", path, err), s.closeAll())
	}
	w, err := newWriter(ctx, s)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the notification store %s: %w", path, err), s.closeAll())
	}
	go w.loop()
	return s, nil
}

func (s *Store) addReader(ctx context.Context) error {
	c, err := newConn(context.WithoutCancel(ctx), s.read)
	if err == nil {
		s.readers <- c
	}
	return err
}

// dsn asks for write-ahead logging with a sync at each commit.
func dsn(path, lock string) string {
	q := url.Values{"_txlock": {lock}}
	for _, pragma := range []string{
		fmt.Sprintf("busy_timeout(%d)", busyMillis), "journal_mode(WAL)", "synchronous(FULL)", "temp_store(MEMORY)", "cache_size(-8000)",
	} {
		q.Add("_pragma", pragma)
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// prepare makes the tables of a new file and refuses a file of a newer layout.
func (s *Store) prepare(ctx context.Context) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after Commit
	var found int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found); err != nil {
		return err
	}
	if found > version {
		return fmt.Errorf("it has layout %d, this program knows %d; use a newer program", found, version)
	}
	for _, statement := range schema() {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
		return err
	}
	return tx.Commit()
}

// schema are the statements that make the tables.
func schema() (list []string) {
	for _, t := range notify.AllTables {
		list = append(list, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (
			id TEXT PRIMARY KEY, parent TEXT NOT NULL, principal TEXT NOT NULL, key TEXT NOT NULL, state TEXT NOT NULL,
			owner TEXT NOT NULL, due INTEGER NOT NULL, created INTEGER NOT NULL, size INTEGER NOT NULL, doc BLOB NOT NULL
		)`, t))
	}
	for _, index := range []struct{ table, name, columns, where string }{
		{"calls", "calls_running", "principal, owner", only("running")},
		{"calls", "calls_ended", "state, created", only("ended", "superseded", "filtered")},
		{"calls", "calls_key", "key", "key <> ''"},
		{"deliveries", "deliveries_open", "state, owner, due", only("pending", "waiting")},
		{"deliveries", "deliveries_principal", "principal, state", only("pending", "waiting")},
		{"deliveries", "deliveries_parent", "parent", ""},
		{"deliveries", "deliveries_ended", "state, created", only("delivered", "dead", "folded", "lost")},
		{"deliveries", "deliveries_created", "created", ""},
		{"attempts", "attempts_parent", "parent", ""},
		{"endpoints", "endpoints_principal", "principal, due", ""},
		{"installs", "installs_key", "key, due", ""},
	} {
		statement := fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)", index.name, index.table, index.columns)
		if index.where != "" {
			statement += " WHERE " + index.where
		}
		list = append(list, statement)
	}
	return list
}

// only limits an index to some states. It is written as SQLite wants it in order
// to use the index for any one of them.
func only(states ...string) string {
	terms := make([]string, len(states))
	for i, s := range states {
		terms[i] = "state = '" + s + "'"
	}
	return strings.Join(terms, " OR ")
}

// Update implements notify.Store.
func (s *Store) Update(ctx context.Context, fn func(notify.Tx) error) error {
	u := &update{ctx: ctx, fn: fn, done: make(chan error, 1)}
	select {
	case <-s.closing:
		return notify.ErrStoreClosed
	default:
	}
	select {
	case s.updates <- u:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return notify.ErrStoreClosed
	}
	select {
	case err := <-u.done:
		return err
	case <-s.done:
		// It ended; it may have taken this one before.
		select {
		case err := <-u.done:
			return err
		default:
			return notify.ErrStoreClosed
		}
	}
}

// View implements notify.Store.
func (s *Store) View(ctx context.Context, fn func(notify.Tx) error) error {
	select {
	case <-s.closing:
		return notify.ErrStoreClosed
	default:
	}
	var c *conn
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.readers <- c }()
	inside := context.WithoutCancel(ctx) // a transaction cut in the middle would stay open
	if err := c.exec(inside, "BEGIN"); err != nil {
		return fmt.Errorf("read the notification store: %w", err)
	}
	defer func() { _ = c.exec(inside, "ROLLBACK") }() // nothing was written
	return fn(&rows{ctx: inside, q: c})
}

// Close implements notify.Store.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closing)
		<-s.done
		for range cap(s.readers) {
			(<-s.readers).close()
		}
		s.closed = s.closeAll()
	})
	return s.closed
}

func (s *Store) closeAll() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

var _ notify.Store = (*Store)(nil)
