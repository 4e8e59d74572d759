package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/notify"
)

// rows is a notify.Tx.
type rows struct {
	ctx   context.Context
	q     *conn
	write bool
}

const columns = "id, parent, principal, key, state, owner, due, created, size, doc"

// replace changes a row in place, so that only the indexes of what is different
// are written.
const replace = ` ON CONFLICT (id) DO UPDATE SET parent = excluded.parent, principal = excluded.principal, key = excluded.key,
	state = excluded.state, owner = excluded.owner, due = excluded.due, created = excluded.created, size = excluded.size,
	doc = excluded.doc`

// Get implements notify.Tx.
func (r *rows) Get(t notify.Table, id string) (notify.Row, error) {
	list, err := r.query("SELECT "+columns+" FROM "+string(t)+" WHERE id = ?", id)
	if err == nil && len(list) == 0 {
		err = notify.ErrNotFound
	}
	if err != nil {
		return notify.Row{}, err
	}
	return list[0], nil
}

// Put implements notify.Tx.
func (r *rows) Put(t notify.Table, row notify.Row) error {
	if row.Doc == nil {
		row.Doc = []byte{}
	}
	return r.exec("INSERT INTO "+string(t)+" ("+columns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"+replace,
		row.ID, row.Parent, row.Principal, row.Key, row.State, row.Owner, micros(row.Due), micros(row.Created), row.Size, row.Doc)
}

// Delete implements notify.Tx.
func (r *rows) Delete(t notify.Table, id string) error {
	return r.exec("DELETE FROM "+string(t)+" WHERE id = ?", id)
}

// Find implements notify.Tx.
func (r *rows) Find(t notify.Table, q notify.Query) ([]notify.Row, error) {
	where, args := condition(&q)
	query := "SELECT " + columns + " FROM " + string(t) + where + order(q.Order)
	if q.Limit > 0 {
		query += " LIMIT ?"
		args = append(args, q.Limit)
	}
	return r.query(query, args...)
}

// Count implements notify.Tx.
func (r *rows) Count(t notify.Table, q notify.Query) (int, error) {
	where, args := condition(&q)
	if q.Limit <= 0 {
		n, err := r.number("SELECT count(*) FROM "+string(t)+where, args...)
		return int(n), err
	}
	n, err := r.number("SELECT count(*) FROM (SELECT 1 FROM "+string(t)+where+" LIMIT ?)", append(args, q.Limit)...)
	return int(n), err
}

// Size implements notify.Tx.
func (r *rows) Size(t notify.Table, q notify.Query) (int64, error) {
	where, args := condition(&q)
	return r.number("SELECT coalesce(sum(size), 0) FROM "+string(t)+where, args...)
}

// condition is the WHERE clause of a query. Only values are arguments: columns
// and tables are names of ours. States are written out, because an index over
// some of the states is used only for those it can see.
func condition(q *notify.Query) (clause string, args []any) {
	var parts []string
	add := func(part string, arg any) {
		parts = append(parts, part)
		args = append(args, arg)
	}
	for _, c := range q.Where {
		if c.Column == notify.ByState && plain(c.Value) {
			parts = append(parts, "state = '"+c.Value+"'")
			continue
		}
		if c.Column == notify.ByKey && c.Value != "" {
			parts = append(parts, "key <> ''")
		}
		add(string(c.Column)+" = ?", c.Value)
	}
	for _, bound := range []struct {
		part string
		at   time.Time
	}{{"due <= ?", q.DueBy}, {"due > ?", q.DueAfter}, {"created < ?", q.CreatedBefore}, {"created >= ?", q.CreatedSince}} {
		if !bound.at.IsZero() {
			add(bound.part, micros(bound.at))
		}
	}
	if len(parts) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(parts, " AND "), args
}

// plain reports whether a text is a word that can stand in a statement.
func plain(word string) bool {
	return strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") == ""
}

func order(o notify.Order) string {
	switch o {
	case notify.OrderDue:
		return " ORDER BY due, id"
	case notify.OrderCreated:
		return " ORDER BY created, id"
	case notify.OrderNewest:
		return " ORDER BY created DESC, id"
	}
	return " ORDER BY id"
}

func (r *rows) exec(query string, args ...any) error {
	if !r.write {
		return notify.ErrReadOnly
	}
	if err := r.q.exec(r.ctx, query, args...); err != nil {
		return fmt.Errorf("write the notification store: %w", err)
	}
	return nil
}

func (r *rows) query(query string, args ...any) (list []notify.Row, err error) {
	found, err := r.q.query(r.ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read the notification store: %w", err)
	}
	defer found.Close()
	for found.Next() {
		var row notify.Row
		var due, created int64
		if err := found.Scan(&row.ID, &row.Parent, &row.Principal, &row.Key, &row.State, &row.Owner, &due, &created, &row.Size, &row.Doc); err != nil {
			return nil, fmt.Errorf("read the notification store: %w", err)
		}
		row.Due, row.Created = moment(due), moment(created)
		list = append(list, row)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read the notification store: %w", err)
	}
	return list, nil
}

func (r *rows) number(query string, args ...any) (n int64, err error) {
	found, err := r.q.query(r.ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("read the notification store: %w", err)
	}
	defer found.Close()
	if found.Next() {
		err = found.Scan(&n)
	}
	if err == nil {
		err = found.Err()
	}
	return n, err
}

// micros is a time as it is stored; the zero time is the earliest.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}

var _ notify.Tx = (*rows)(nil)
