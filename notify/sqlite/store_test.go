package sqlite

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/internal/notifytest"
	"github.com/causeway-ahp/causeway/notify"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "notify.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStoreKeepsTheContract(t *testing.T) {
	notifytest.Contract(t, func(t *testing.T) notify.Store { return open(t) })
}

// TestQueriesUseIndexes asks SQLite how it would answer the queries that are made
// often, so that none grows with what is stored.
func TestQueriesUseIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	db, err := sql.Open("sqlite", dsn(path, "deferred")) // the store's own connections are its readers'
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	is := func(c notify.Column, v string) notify.Cond { return notify.Cond{Column: c, Value: v} }
	for _, tc := range []struct {
		table notify.Table
		q     notify.Query
		index string
	}{
		{notify.Deliveries, notify.Query{Where: []notify.Cond{is(notify.ByState, "pending"), is(notify.ByOwner, "")}, DueBy: time.Now(), Order: notify.OrderDue, Limit: 1}, "deliveries_open"},
		{notify.Deliveries, notify.Query{Where: []notify.Cond{is(notify.ByPrincipal, "a"), is(notify.ByState, "pending")}, Limit: 10}, "deliveries_principal"},
		{notify.Deliveries, notify.Query{Where: []notify.Cond{is(notify.ByParent, "c"), is(notify.ByState, "waiting")}}, "deliveries_parent"},
		{notify.Deliveries, notify.Query{Where: []notify.Cond{is(notify.ByState, "dead")}, CreatedBefore: time.Now(), Order: notify.OrderCreated, Limit: 1}, "deliveries_ended"},
		{notify.Deliveries, notify.Query{Order: notify.OrderNewest, Limit: 100}, "deliveries_created"},
		{notify.Calls, notify.Query{Where: []notify.Cond{is(notify.ByPrincipal, "a"), is(notify.ByState, "running")}, Limit: 10}, "calls_running"},
		{notify.Calls, notify.Query{Where: []notify.Cond{is(notify.ByKey, "k")}, Limit: 1}, "calls_key"},
		{notify.Installs, notify.Query{Where: []notify.Cond{is(notify.ByKey, "s")}, DueAfter: time.Now()}, "installs_key"},
		{notify.Attempts, notify.Query{Where: []notify.Cond{is(notify.ByParent, "d")}}, "attempts_parent"},
	} {
		where, args := condition(&tc.q)
		rows, err := db.Query("EXPLAIN QUERY PLAN SELECT 1 FROM "+string(tc.table)+where+order(tc.q.Order), args...)
		if err != nil {
			t.Fatal(err)
		}
		var plan strings.Builder
		for rows.Next() {
			var a, b, c int
			var text string
			if err := rows.Scan(&a, &b, &c, &text); err != nil {
				t.Fatal(err)
			}
			plan.WriteString(text + "\n")
		}
		rows.Close()
		if !strings.Contains(plan.String(), tc.index) || strings.Contains(plan.String(), "SCAN "+string(tc.table)+"\n") {
			t.Errorf("%s%s: not by %s:\n%s", tc.table, where, tc.index, &plan)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "notify.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.RunParallel(func(p *testing.PB) {
		for i := 0; p.Next(); i++ {
			err := s.Update(b.Context(), func(tx notify.Tx) error {
				return tx.Put(notify.Calls, notify.Row{ID: notify.NewSecret(b.Name()).Reveal() + time.Now().String(), State: "running", Doc: make([]byte, 500)})
			})
			if err != nil {
				b.Error(err)
			}
		}
	})
}
