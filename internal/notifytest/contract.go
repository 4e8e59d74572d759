// Package notifytest holds what the tests of the notification packages share: the
// contract every notify.Store must keep, and a receiver of webhooks.
package notifytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/notify"
)

// base is a moment with nothing below a microsecond, which stores do not keep.
var base = time.Date(2026, 12, 1, 8, 0, 0, 1000, time.UTC)

// Contract tests a store. open returns a new, empty one.
func Contract(t *testing.T, open func(t *testing.T) notify.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, notify.Store)
	}{
		{"PutGetDelete", putGetDelete},
		{"FailedUpdateLeavesNothing", failedUpdate},
		{"Queries", queries},
		{"ViewsDoNotWrite", viewsDoNotWrite},
		{"UpdatesExcludeEachOther", updatesExclude},
		{"FailuresStandAlone", failuresStandAlone},
		{"EndedContext", endedContext},
		{"Closed", closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			c.test(t, s)
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

func update(t *testing.T, s notify.Store, fn func(notify.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func view(t *testing.T, s notify.Store, fn func(notify.Tx) error) {
	t.Helper()
	if err := s.View(t.Context(), fn); err != nil {
		t.Fatalf("view: %v", err)
	}
}

func row(id, state string, minutes int) notify.Row {
	at := base.Add(time.Duration(minutes) * time.Minute)
	return notify.Row{
		ID: id, Parent: "p", Principal: "alice", Key: "k'\"", State: state, Owner: "", Due: at, Created: at, Size: int64(minutes), Doc: []byte(`{"a":1}`),
	}
}

func putGetDelete(t *testing.T, s notify.Store) {
	want := row("a", "pending", 3)
	for _, table := range notify.AllTables {
		update(t, s, func(tx notify.Tx) error { return tx.Put(table, want) })
		view(t, s, func(tx notify.Tx) error {
			got, err := tx.Get(table, "a")
			if err != nil || !same(got, want) {
				t.Errorf("%s: got %+v, %v, want %+v", table, got, err, want)
			}
			return nil
		})
	}
	changed := want
	changed.State, changed.Doc, changed.Due = "dead", []byte("{}"), time.Time{}
	update(t, s, func(tx notify.Tx) error {
		if err := tx.Put(notify.Calls, changed); err != nil {
			return err
		}
		got, err := tx.Get(notify.Calls, "a")
		if err != nil || !same(got, changed) {
			t.Errorf("inside: got %+v, %v, want %+v", got, err, changed)
		}
		return nil
	})
	update(t, s, func(tx notify.Tx) error {
		return errors.Join(tx.Delete(notify.Calls, "a"), tx.Delete(notify.Calls, "never"))
	})
	view(t, s, func(tx notify.Tx) error {
		if _, err := tx.Get(notify.Calls, "a"); !errors.Is(err, notify.ErrNotFound) {
			t.Errorf("after delete: %v, want ErrNotFound", err)
		}
		return nil
	})
}

func same(a, b notify.Row) bool {
	due, created := a.Due.Equal(b.Due), a.Created.Equal(b.Created)
	a.Due, a.Created, b.Due, b.Created = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return due && created && fmt.Sprint(a) == fmt.Sprint(b)
}

func failedUpdate(t *testing.T, s notify.Store) {
	update(t, s, func(tx notify.Tx) error { return tx.Put(notify.Calls, row("old", "running", 1)) })
	broken := errors.New("broken")
	err := s.Update(t.Context(), func(tx notify.Tx) error {
		if err := errors.Join(tx.Put(notify.Calls, row("new", "running", 1)), tx.Put(notify.Calls, row("old", "ended", 2)), tx.Delete(notify.Calls, "old")); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("update: %v, want %v", err, broken)
	}
	view(t, s, func(tx notify.Tx) error {
		all, err := tx.Find(notify.Calls, notify.Query{})
		if err != nil || len(all) != 1 || all[0].ID != "old" || all[0].State != "running" {
			t.Errorf("left %+v, %v", all, err)
		}
		return nil
	})
}

func queries(t *testing.T, s notify.Store) {
	update(t, s, func(tx notify.Tx) error {
		var errs []error
		for i, state := range []string{"pending", "dead", "pending", "waiting", "pending"} {
			r := row(string(rune('a'+i)), state, 10-i)
			if i == 4 {
				r.Owner, r.Principal = "me", "bob"
			}
			errs = append(errs, tx.Put(notify.Deliveries, r))
		}
		return errors.Join(errs...)
	})
	state := func(v string) notify.Cond { return notify.Cond{Column: notify.ByState, Value: v} }
	at := func(m int) time.Time { return base.Add(time.Duration(m) * time.Minute) }
	for _, tc := range []struct {
		name string
		q    notify.Query
		want string
	}{
		{"all", notify.Query{}, "abcde"},
		{"state", notify.Query{Where: []notify.Cond{state("pending")}}, "ace"},
		{"no such state", notify.Query{Where: []notify.Cond{state("it's")}}, ""},
		{"unowned", notify.Query{Where: []notify.Cond{state("pending"), {Column: notify.ByOwner, Value: ""}}, Order: notify.OrderDue}, "ca"},
		{"principal", notify.Query{Where: []notify.Cond{{Column: notify.ByPrincipal, Value: "bob"}}}, "e"},
		{"parent and key", notify.Query{Where: []notify.Cond{{Column: notify.ByParent, Value: "p"}, {Column: notify.ByKey, Value: "k'\""}}}, "abcde"},
		{"due by", notify.Query{DueBy: at(7), Order: notify.OrderDue}, "ed"},
		{"due after", notify.Query{DueAfter: at(8), Order: notify.OrderDue}, "ba"},
		{"created before", notify.Query{CreatedBefore: at(8), Order: notify.OrderCreated}, "ed"},
		{"created since", notify.Query{CreatedSince: at(8), Order: notify.OrderNewest}, "abc"},
		{"limit", notify.Query{Order: notify.OrderDue, Limit: 2}, "ed"},
	} {
		view(t, s, func(tx notify.Tx) error {
			found, err := tx.Find(notify.Deliveries, tc.q)
			got := ""
			for _, r := range found {
				got += r.ID
			}
			n, err2 := tx.Count(notify.Deliveries, tc.q)
			if got != tc.want || n != len(tc.want) || err != nil || err2 != nil {
				t.Errorf("%s: got %q (%d), %v, %v, want %q", tc.name, got, n, err, err2, tc.want)
			}
			return nil
		})
	}
	view(t, s, func(tx notify.Tx) error {
		sum, err := tx.Size(notify.Deliveries, notify.Query{Where: []notify.Cond{state("pending")}})
		if sum != 10+8+6 || err != nil {
			t.Errorf("size %d, %v, want 24", sum, err)
		}
		return nil
	})
}

func viewsDoNotWrite(t *testing.T, s notify.Store) {
	view(t, s, func(tx notify.Tx) error {
		if err := tx.Put(notify.Calls, row("a", "running", 1)); !errors.Is(err, notify.ErrReadOnly) {
			t.Errorf("put: %v, want ErrReadOnly", err)
		}
		if err := tx.Delete(notify.Calls, "a"); !errors.Is(err, notify.ErrReadOnly) {
			t.Errorf("delete: %v, want ErrReadOnly", err)
		}
		return nil
	})
}

// updatesExclude counts in a row from many goroutines.
func updatesExclude(t *testing.T, s notify.Store) {
	const workers, rounds = 8, 25
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range rounds {
				err := s.Update(t.Context(), func(tx notify.Tx) error {
					r, err := tx.Get(notify.Calls, "count")
					if err != nil && !errors.Is(err, notify.ErrNotFound) {
						return err
					}
					r.ID = "count"
					r.Size++
					return tx.Put(notify.Calls, r)
				})
				if err != nil {
					t.Errorf("update: %v", err)
				}
			}
		})
	}
	all.Wait()
	view(t, s, func(tx notify.Tx) error {
		r, err := tx.Get(notify.Calls, "count")
		if r.Size != workers*rounds || err != nil {
			t.Errorf("counted %d, %v, want %d", r.Size, err, workers*rounds)
		}
		return nil
	})
}

// failuresStandAlone lets every third of many updates fail at once.
func failuresStandAlone(t *testing.T, s notify.Store) {
	const n = 60
	broken := errors.New("broken")
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			errs[i] = s.Update(t.Context(), func(tx notify.Tx) error {
				if err := tx.Put(notify.Calls, row(fmt.Sprintf("c%02d", i), "running", i)); err != nil {
					return err
				}
				if i%3 == 0 {
					return broken
				}
				return nil
			})
		})
	}
	all.Wait()
	var want []string
	for i := range n {
		if failed := errors.Is(errs[i], broken); failed != (i%3 == 0) {
			t.Errorf("update %d: %v", i, errs[i])
		}
		if i%3 != 0 {
			want = append(want, fmt.Sprintf("c%02d", i))
		}
	}
	view(t, s, func(tx notify.Tx) error {
		found, err := tx.Find(notify.Calls, notify.Query{})
		var got []string
		for _, r := range found {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) || err != nil {
			t.Errorf("kept %v, %v, want %v", got, err, want)
		}
		return nil
	})
}

func endedContext(t *testing.T, s notify.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	err := s.Update(ctx, func(notify.Tx) error { ran = true; return nil })
	if !errors.Is(err, context.Canceled) || ran {
		t.Errorf("update: %v, ran %v, want Canceled and not run", err, ran)
	}
}

func closed(t *testing.T, s notify.Store) {
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	nothing := func(notify.Tx) error { return nil }
	if err := s.Update(t.Context(), nothing); !errors.Is(err, notify.ErrStoreClosed) {
		t.Errorf("update: %v, want ErrStoreClosed", err)
	}
	if err := s.View(t.Context(), nothing); !errors.Is(err, notify.ErrStoreClosed) {
		t.Errorf("view: %v, want ErrStoreClosed", err)
	}
}
