package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
)

// ErrNewer means that a later version of this program wrote the file.
var ErrNewer = errors.New("written by a newer version of causeway")

// applicationID marks the file as ours ("CWJ1").
const applicationID = 0x43574a31

// migrations lead from one version of the schema to the next. They are never
// changed once released: a file of any older version goes through all of them.
var migrations = []string{
	// 1: the first schema.
	`CREATE TABLE meta (
		key   TEXT PRIMARY KEY,
		value INTEGER NOT NULL
	) STRICT, WITHOUT ROWID;

	CREATE TABLE channel (
		id        INTEGER PRIMARY KEY,
		uri       TEXT NOT NULL UNIQUE,
		parent    TEXT NOT NULL,
		createdAt TEXT NOT NULL,
		born      INTEGER NOT NULL,
		seq       INTEGER NOT NULL, -- number the image is as of
		open      INTEGER NOT NULL, -- 1: has work that a restart must close
		size      INTEGER NOT NULL, -- of the state, about, in bytes
		summary   BLOB
	) STRICT;

	CREATE TABLE image (
		channel INTEGER PRIMARY KEY, -- channel.id
		items   INTEGER NOT NULL,    -- how many the state has
		sum     INTEGER NOT NULL,    -- CRC-32C of URI and head
		head    BLOB NOT NULL
	) STRICT;

	CREATE TABLE item (
		id   INTEGER PRIMARY KEY, -- channel.id * 2^20 + index
		sum  INTEGER NOT NULL,
		body BLOB NOT NULL
	) STRICT;

	CREATE TABLE block (
		id      INTEGER PRIMARY KEY AUTOINCREMENT,
		channel INTEGER NOT NULL, -- channel.id
		first   INTEGER NOT NULL, -- numbers of its actions
		last    INTEGER NOT NULL,
		body    BLOB NOT NULL
	) STRICT;
	CREATE INDEX block_channel ON block (channel, last);

	CREATE TABLE client (
		id      TEXT PRIMARY KEY,
		lineage INTEGER NOT NULL UNIQUE,
		seen    INTEGER NOT NULL,
		high    INTEGER NOT NULL, -- highest clientSeq
		body    BLOB NOT NULL
	) STRICT;

	CREATE TABLE note (
		channel INTEGER NOT NULL,
		name    TEXT NOT NULL,
		body    BLOB NOT NULL,
		PRIMARY KEY (channel, name)
	) STRICT, WITHOUT ROWID;

	CREATE TABLE lost (
		first INTEGER PRIMARY KEY,
		last  INTEGER NOT NULL
	) STRICT;`,
}

// Version is the schema this program writes.
var Version = len(migrations)

// migrate brings the schema up to date. It changes nothing in a file that is not
// ours or is newer.
func migrate(db *sql.DB) error {
	id, version, err := versionOf(db)
	switch {
	case err != nil:
		return err
	case version > Version:
		return newer(version)
	case id != applicationID && (id != 0 || version != 0):
		return errors.New("not a journal of causeway")
	}
	for ; version < Version; version++ {
		if err := step(db, version); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", version+1, err)
		}
	}
	return nil
}

func versionOf(db *sql.DB) (id, version int, err error) {
	err = errors.Join(
		db.QueryRow("PRAGMA application_id").Scan(&id),
		db.QueryRow("PRAGMA user_version").Scan(&version),
	)
	return id, version, err
}

func newer(version int) error {
	return fmt.Errorf("%w: schema %d, this one knows up to %d; use that version, or another --data", ErrNewer, version, Version)
}

// step runs one migration, whole or not at all.
func step(db *sql.DB, version int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	_, err = tx.Exec(migrations[version])
	if err != nil {
		return err
	}
	if _, err = tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version+1)); err != nil {
		return err
	}
	return tx.Commit()
}
