package notify

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// MemoryStore keeps rows for the life of the process. It is meant for tests and
// for callers who want no promise beyond their own end.
type MemoryStore struct {
	mu     sync.RWMutex
	tables map[Table]map[string]Row
	closed bool
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	m := &MemoryStore{tables: make(map[Table]map[string]Row)}
	for _, t := range AllTables {
		m.tables[t] = make(map[string]Row)
	}
	return m
}

// Update implements Store.
func (m *MemoryStore) Update(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrStoreClosed
	}
	tx := &memoryTx{store: m, write: true}
	err := fn(tx)
	if err != nil {
		tx.rollback()
	}
	return err
}

// View implements Store.
func (m *MemoryStore) View(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return ErrStoreClosed
	}
	return fn(&memoryTx{store: m})
}

// Close implements Store.
func (m *MemoryStore) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// memoryTx writes in place and remembers how to take it back.
type memoryTx struct {
	store *MemoryStore
	write bool
	undo  []func()
}

func (tx *memoryTx) rollback() {
	for _, f := range slices.Backward(tx.undo) {
		f()
	}
}

func (tx *memoryTx) remember(t Table, id string) {
	rows := tx.store.tables[t]
	old, had := rows[id]
	tx.undo = append(tx.undo, func() {
		delete(rows, id)
		if had {
			rows[id] = old
		}
	})
}

func (tx *memoryTx) Get(t Table, id string) (Row, error) {
	r, ok := tx.store.tables[t][id]
	if !ok {
		return Row{}, ErrNotFound
	}
	return r, nil
}

func (tx *memoryTx) Put(t Table, r Row) error {
	if !tx.write {
		return ErrReadOnly
	}
	tx.remember(t, r.ID)
	r.Doc = slices.Clone(r.Doc)
	r.Due, r.Created = r.Due.Truncate(time.Microsecond), r.Created.Truncate(time.Microsecond)
	tx.store.tables[t][r.ID] = r
	return nil
}

func (tx *memoryTx) Delete(t Table, id string) error {
	if !tx.write {
		return ErrReadOnly
	}
	tx.remember(t, id)
	delete(tx.store.tables[t], id)
	return nil
}

func (tx *memoryTx) Find(t Table, q Query) ([]Row, error) {
	var found []Row
	for _, r := range tx.store.tables[t] {
		if q.selects(&r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, q.Order.compare)
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, nil
}

func (tx *memoryTx) Count(t Table, q Query) (int, error) {
	q.Order = OrderID
	found, err := tx.Find(t, q)
	return len(found), err
}

func (tx *memoryTx) Size(t Table, q Query) (sum int64, err error) {
	for _, r := range tx.store.tables[t] {
		if q.selects(&r) {
			sum += r.Size
		}
	}
	return sum, nil
}

func (q *Query) selects(r *Row) bool {
	for _, c := range q.Where {
		if r.column(c.Column) != c.Value {
			return false
		}
	}
	switch {
	case !q.DueBy.IsZero() && r.Due.After(q.DueBy),
		!q.DueAfter.IsZero() && !r.Due.After(q.DueAfter),
		!q.CreatedBefore.IsZero() && !r.Created.Before(q.CreatedBefore),
		!q.CreatedSince.IsZero() && r.Created.Before(q.CreatedSince):
		return false
	}
	return true
}

func (r *Row) column(c Column) string {
	switch c {
	case ByParent:
		return r.Parent
	case ByPrincipal:
		return r.Principal
	case ByKey:
		return r.Key
	case ByState:
		return r.State
	case ByOwner:
		return r.Owner
	}
	panic("notify: no column " + string(c))
}

func (o Order) compare(a, b Row) int {
	by := 0
	switch o {
	case OrderDue:
		by = a.Due.Compare(b.Due)
	case OrderCreated:
		by = a.Created.Compare(b.Created)
	case OrderNewest:
		by = b.Created.Compare(a.Created)
	}
	return cmp.Or(by, strings.Compare(a.ID, b.ID))
}

var _ Store = (*MemoryStore)(nil)
