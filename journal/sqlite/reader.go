package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// OpenReader opens a file to read from it with Load, Children and Check, also
// while a host writes to it. It makes and changes nothing.
func OpenReader(path string) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	s := &Store{path: path}
	db, err := sql.Open("sqlite", s.dsn(false))
	if err == nil {
		err = checkVersion(db)
	}
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	s.read, s.reader = db, true
	return s, nil
}

// checkVersion refuses what this version cannot read.
func checkVersion(db *sql.DB) error {
	id, version, err := versionOf(db)
	switch {
	case err != nil:
		return err
	case version > Version:
		return newer(version)
	case id != applicationID || version != Version:
		return errors.New("not a journal of this version of causeway; start a host on it once")
	}
	return nil
}

// Entry is a channel in the file.
type Entry struct {
	URI, Parent, CreatedAt string
}

// Channels lists the channels that belong to parent, "" for those that belong to
// none, in the order in which they were made.
func (s *Store) Channels(parent string) (list []Entry, err error) {
	rows, err := s.read.Query("SELECT uri, parent, createdAt FROM channel WHERE parent = ? ORDER BY id", parent)
	if err != nil {
		return nil, fmt.Errorf("list channels: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var e Entry
		if err := rows.Scan(&e.URI, &e.Parent, &e.CreatedAt); err != nil {
			return nil, fmt.Errorf("list channels: %w", err)
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// Check looks for damage in the file itself and returns what it finds.
func (s *Store) Check() (problems []string, err error) {
	rows, err := s.read.Query("PRAGMA quick_check(20)")
	if err != nil {
		return nil, fmt.Errorf("check journal: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("check journal: %w", err)
		}
		if text != "ok" {
			problems = append(problems, text)
		}
	}
	return problems, rows.Err()
}
