package sqlite

import (
	"context"
	"fmt"

	"github.com/causeway-ahp/causeway/notify"
)

// groupBound is how many updates share a transaction at most.
const groupBound = 256

// update is one call of Update on its way.
type update struct {
	ctx  context.Context
	fn   func(notify.Tx) error
	done chan error // holds one
	err  error      // what fn returned
}

// writer is the one goroutine that writes, on a connection of its own with its
// statements prepared.
type writer struct {
	*conn
	store *Store
	ctx   context.Context
}

func newWriter(ctx context.Context, s *Store) (*writer, error) {
	ctx = context.WithoutCancel(ctx)
	c, err := newConn(ctx, s.write)
	if err != nil {
		return nil, err
	}
	return &writer{conn: c, store: s, ctx: ctx}, nil
}

func (w *writer) loop() {
	defer close(w.store.done)
	defer w.close()
	for {
		select {
		case u := <-w.store.updates:
			w.commit(w.group(u))
		case <-w.store.closing:
			for {
				select {
				case u := <-w.store.updates:
					u.done <- notify.ErrStoreClosed
				default:
					return
				}
			}
		}
	}
}

// group takes what waits behind the first update.
func (w *writer) group(first *update) []*update {
	group := []*update{first}
	for len(group) < groupBound {
		select {
		case u := <-w.store.updates:
			group = append(group, u)
		default:
			return group
		}
	}
	return group
}

// commit runs a group in one transaction and answers each of it.
func (w *writer) commit(group []*update) {
	err := w.run(group)
	for _, u := range group {
		if err != nil && u.err == nil {
			u.err = fmt.Errorf("commit to the notification store: %w", err)
		}
		u.done <- u.err
	}
}

func (w *writer) run(group []*update) error {
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, u := range group {
		if u.err = u.ctx.Err(); u.err != nil {
			continue
		}
		if err := w.one(u, len(group) > 1); err != nil {
			_ = w.exec("ROLLBACK")
			return err
		}
	}
	if err := w.exec("COMMIT"); err != nil {
		_ = w.exec("ROLLBACK")
		return err
	}
	return nil
}

// one runs an update, in a savepoint if others share the transaction. An error is
// the transaction's, not the update's.
func (w *writer) one(u *update, shared bool) error {
	if !shared {
		u.err = w.call(u)
		return u.err
	}
	if err := w.exec("SAVEPOINT one"); err != nil {
		return err
	}
	u.err = w.call(u)
	if u.err != nil {
		if err := w.exec("ROLLBACK TO one"); err != nil {
			return err
		}
	}
	return w.exec("RELEASE one")
}

// call contains a panic of the update's: it must not take the others along.
func (w *writer) call(u *update) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v", p)
		}
	}()
	return u.fn(&rows{ctx: w.ctx, q: w.conn, write: true})
}

func (w *writer) exec(query string) error { return w.conn.exec(w.ctx, query) }
