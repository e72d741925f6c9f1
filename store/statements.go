package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// maxStatements is how many prepared statements a connection keeps: more than the
// store has queries with their usual filters.
const maxStatements = 256

// preparedConn is a connection that prepares a query once: to parse one costs
// SQLite as much as to run it. A statement is out of the cache while its rows are
// read, so that the same query can be asked meanwhile. As with every connection,
// database/sql lets one goroutine in at a time.
type preparedConn struct {
	conn
	cache map[string]statement
}

// conn is what the driver's connections implement of what database/sql asks for.
type conn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// statement is what the driver's prepared statements implement.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func newPreparedConn(raw driver.Conn) (driver.Conn, error) {
	c, ok := raw.(conn)
	if !ok {
		return nil, fmt.Errorf("a connection of type %T lacks what the store needs", raw)
	}
	return &preparedConn{c, make(map[string]statement)}, nil
}

// take gives the statement of a query, prepared now or earlier.
func (p *preparedConn) take(ctx context.Context, query string) (statement, error) {
	if s, ok := p.cache[query]; ok {
		delete(p.cache, query)
		return s, nil
	}
	raw, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := raw.(statement)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a statement of type %T lacks what the store needs", raw), raw.Close())
	}
	return s, nil
}

// put gives a statement back for the next who asks the same. Pragmas are not
// kept, since some take effect when they are prepared, and neither is a second
// statement of the same query.
func (p *preparedConn) put(query string, s statement) error {
	if _, there := p.cache[query]; there || strings.HasPrefix(query, "PRAGMA") {
		return s.Close()
	}
	p.cache[query] = s
	if len(p.cache) <= maxStatements {
		return nil
	}
	for other, old := range p.cache { // any will do: the order of a map is random
		delete(p.cache, other)
		return old.Close()
	}
	return nil
}

// ExecContext implements driver.ExecerContext.
func (p *preparedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := p.take(ctx, query)
	if err != nil {
		return nil, err
	}
	r, err := s.ExecContext(ctx, args)
	if put := p.put(query, s); err == nil {
		err = put
	}
	return r, err
}

// QueryContext implements driver.QueryerContext.
func (p *preparedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := p.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		_ = p.put(query, s) // what went wrong has been said
		return nil, err
	}
	return &preparedRows{rows, p, query, s}, nil
}

// Close implements driver.Conn.
func (p *preparedConn) Close() error {
	var errs []error
	for _, s := range p.cache {
		errs = append(errs, s.Close())
	}
	p.cache = nil
	return errors.Join(append(errs, p.conn.Close())...)
}

// preparedRows gives the statement back when its rows were read.
type preparedRows struct {
	driver.Rows
	conn  *preparedConn
	query string
	stmt  statement
}

// Close implements driver.Rows.
func (r *preparedRows) Close() error {
	return errors.Join(r.Rows.Close(), r.conn.put(r.query, r.stmt))
}
