package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/causeway-ahp/causeway/internal/faultfs"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// script fails the nth operation of a kind, counted from 1, and so many after it.
type script struct {
	op    faultfs.Op
	fault faultfs.Fault
	nth   int64
	times int64 // 0: for ever

	seen, hit atomic.Int64
}

func (s *script) decide(op faultfs.Op, path string) faultfs.Fault {
	if op != s.op || !strings.Contains(path, "journal.db") {
		return faultfs.None
	}
	n := s.seen.Add(1)
	if n < s.nth || s.times > 0 && n >= s.nth+s.times {
		return faultfs.None
	}
	s.hit.Add(1)
	return s.fault
}

func openFaulty(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{Block: 100, VFS: faultfs.Name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.abandon)
	return s
}

// group is a group of the records a chat makes.
func group(seq uint64) []*journal.Record {
	list := []*journal.Record{}
	if seq == 1 {
		list = append(list, &journal.Record{Kind: journal.Created, Channel: "c", Body: jsontext.Value(`{}`), Birth: new(journal.Birth)})
	}
	return append(list,
		&journal.Record{Seq: seq, Kind: journal.Action, Channel: "c", Body: jsontext.Value(`{"n":"` + strings.Repeat("x", 500) + `"}`)},
		&journal.Record{Seq: seq + 1, Kind: journal.Mark, Channel: "c"})
}

// contents is everything a reader finds.
func contents(t *testing.T, path string) string {
	t.Helper()
	s, err := Open(path, Options{Block: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer s.abandon()
	img, tail, err := s.Load("c")
	if errors.Is(err, journal.ErrNoChannel) {
		return "nothing"
	}
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s %d items", img.Head, len(img.Items))
	for _, r := range tail {
		text += fmt.Sprint(" ", r.Seq)
	}
	return text
}

// TestFaultAtEveryStep lets each read, write, truncation and sync of a history
// fail, once or for a while, in each way. A group or an image is then refused,
// never half taken; it is taken when it is tried again, without another process;
// and in the end the file holds what it would have held without the fault.
func TestFaultAtEveryStep(t *testing.T) {
	t.Cleanup(func() { faultfs.Use(nil) })
	reference := filepath.Join(t.TempDir(), "journal.db")
	faultfs.Use(nil)
	play(t, openFaulty(t, reference))
	want := contents(t, reference)
	for _, op := range []faultfs.Op{faultfs.Open, faultfs.Read, faultfs.Write, faultfs.Truncate, faultfs.Sync} {
		for _, fault := range []faultfs.Fault{faultfs.IOError, faultfs.Full, faultfs.ReadOnly} {
			if op != faultfs.Write && fault != faultfs.IOError {
				continue // what else fails, fails with an error of input or output
			}
			t.Run(fmt.Sprintf("%s/%d", op, fault), func(t *testing.T) { failEach(t, op, fault, want) })
		}
	}
}

func failEach(t *testing.T, op faultfs.Op, fault faultfs.Fault, want string) {
	for nth := int64(1); ; nth += 1 + nth { // each of the first, then fewer
		for _, times := range []int64{1, 5} {
			path := filepath.Join(t.TempDir(), "journal.db")
			faultfs.Use(nil)
			s := openFaulty(t, path)
			f := &script{op: op, fault: fault, nth: nth, times: times}
			faultfs.Use(f.decide)
			play(t, s)
			faultfs.Use(nil)
			s.abandon()
			if got := contents(t, path); got != want {
				t.Errorf("fault %d, %d times: %s", nth, times, cmp.Diff(want, got))
			}
			if f.hit.Load() == 0 {
				return // nothing happens so late any more
			}
			if t.Failed() {
				return
			}
		}
	}
}

// play writes a history and tries again what is refused, as the host does.
func play(t *testing.T, s *Store) {
	t.Helper()
	again := func(do func() error) {
		t.Helper()
		for tries := 0; ; tries++ {
			err := do()
			if err == nil {
				return
			}
			if tries > 50 {
				t.Fatalf("refused for ever: %v", err)
			}
		}
	}
	for seq := uint64(1); seq < 20; seq += 2 {
		again(func() error { return s.Write(group(seq)) })
		if seq%10 == 1 {
			again(func() error {
				return s.Save(&journal.Image{Channel: "c", Seq: seq, Head: jsontext.Value(fmt.Sprintf(`{"at":%d}`, seq)), Items: []jsontext.Value{jsontext.Value(`1`)}})
			})
			again(func() error { return s.Trim(seq / 2) })
		}
		again(func() error { _, _, err := s.Load("c"); return err })
	}
}

// TestFullDisk: a disk without space refuses everything and loses nothing; when it
// has space again the store goes on.
func TestFullDisk(t *testing.T) {
	t.Cleanup(func() { faultfs.Use(nil) })
	path := filepath.Join(t.TempDir(), "journal.db")
	s := openFaulty(t, path)
	if err := s.Write(group(1)); err != nil {
		t.Fatal(err)
	}
	full := &script{op: faultfs.Write, fault: faultfs.Full, nth: 1}
	faultfs.Use(full.decide)
	for range 3 {
		if err := s.Write(group(3)); err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("written to a full disk: %v", err)
		}
		if img, tail, err := s.Load("c"); err != nil || img == nil || len(tail) != 1 {
			t.Errorf("what is there cannot be read: %d actions, %v", len(tail), err)
		}
	}
	faultfs.Use(nil)
	if err := s.Write(group(3)); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, path); got != "{} 0 items 1 3" {
		t.Errorf("in the file: %s", got)
	}
}

// TestLocked: while somebody else has the file locked, groups are refused and
// reading goes on; afterwards writing does.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := Open(path, Options{Block: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.abandon)
	if err := s.Write(group(1)); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(group(3)); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("written to a locked file: %v", err)
	}
	if _, tail, err := s.Load("c"); err != nil || len(tail) != 1 {
		t.Errorf("load: %d actions, %v", len(tail), err)
	}
	if err := errors.Join(tx.Rollback(), other.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(group(3)); err != nil {
		t.Error(err)
	}
}

// TestDamagedFile: every part of a channel that is overwritten is noticed by who
// reads it; other channels are not concerned, and the file is not changed by it.
func TestDamagedFile(t *testing.T) {
	for name, spoil := range map[string]string{
		"head":     "UPDATE image SET head = CAST(replace(CAST(head AS TEXT), 'at', 'xx') AS BLOB) WHERE channel = 1",
		"item":     "UPDATE item SET body = x'30' WHERE id = (SELECT min(id) FROM item)",
		"lost":     "DELETE FROM item WHERE id = (SELECT min(id) FROM item)",
		"appended": "INSERT INTO item (id, sum, body) VALUES ((SELECT max(id) + 1 FROM item), 1, x'31')",
		"action":   "UPDATE block SET body = substr(body, 1, length(body) - 1) WHERE id = (SELECT max(id) FROM block WHERE channel = 1)",
		"image":    "DELETE FROM image WHERE channel = 1",
		"swapped":  "UPDATE block SET channel = 3 - channel",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			s, err := Open(path, Options{Block: 100})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.abandon)
			play(t, s)
			if err := s.Write([]*journal.Record{
				{Seq: 90, Kind: journal.Created, Channel: "d", Body: jsontext.Value(`{}`), Birth: new(journal.Birth)},
				{Seq: 91, Kind: journal.Action, Channel: "d", Body: jsontext.Value(`{}`)},
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.write.Exec(spoil); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, _, err := s.Load("c"); !errors.Is(err, journal.ErrDamaged) {
					t.Errorf("load: %v", err)
				}
			}
			if _, _, err := s.Load("d"); err != nil && name != "swapped" {
				t.Errorf("another channel: %v", err)
			}
			r, err := s.Recover(1000, 1<<20)
			if err != nil || len(r.Channels) != 2 {
				t.Errorf("recover: %v", err)
			}
		})
	}
}

// TestNotADatabase: a file that is something else is refused and left as it is.
func TestNotADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	text := []byte(strings.Repeat("my novel\n", 1000))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{}); err == nil {
		t.Error("opened")
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(text) {
		t.Errorf("changed: %d bytes, %v", len(now), err)
	}
}

// TestVersions: a newer schema is refused and left alone; the file of every older
// one is migrated and has what it had.
func TestVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(group(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.write.Exec("PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	s.abandon()
	if _, err := Open(path, Options{}); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "999") {
		t.Errorf("newer: %v", err)
	}
	for version := range Version {
		old := filepath.Join(t.TempDir(), "old.db")
		if err := makeVersion(old, version); err != nil {
			t.Fatal(err)
		}
		s, err := Open(old, Options{})
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if err := s.Write(group(1)); err != nil {
			t.Errorf("version %d: %v", version, err)
		}
		s.abandon()
	}
}
