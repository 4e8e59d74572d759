package sqlite

import (
	"context"
	"database/sql"
)

// conn is one connection with its statements prepared. There are few different
// ones, and preparing costs more than running.
type conn struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{conn: c, stmts: make(map[string]*sql.Stmt)}, nil
}

func (c *conn) close() {
	for _, s := range c.stmts {
		_ = s.Close()
	}
	_ = c.conn.Close()
}

func (c *conn) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

// exec runs a statement.
func (c *conn) exec(ctx context.Context, query string, args ...any) error {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(ctx, args...)
	return err
}

// query runs a statement that has rows.
func (c *conn) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}
