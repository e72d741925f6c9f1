package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// role says what a connection is for.
type role int

const (
	roleWriter  role = iota // the one connection that changes anything; its transactions are immediate
	roleScratch             // the same for a store that may be lost: it does not wait for the disk
	roleReader              // refuses writes
	roleCopier              // reads the database and writes copies of it elsewhere
	roleCheck               // reads a file that nobody else has open, and leaves no trace of it
)

// pragma is one setting of a connection: how it is asked for and what SQLite
// must say when asked back.
type pragma struct{ name, set, want string }

// pragmas returns the settings of a connection. Every connection gets all of
// them, because most last only as long as their connection does.
func (r role) pragmas() []pragma {
	cache, queryOnly := "-4096", "0" // negative: KiB
	sync := pragma{"synchronous", "full", "2"}
	switch r {
	case roleWriter:
		cache = "-16384"
	case roleScratch:
		cache, sync = "-16384", pragma{"synchronous", "off", "0"}
	case roleReader:
		queryOnly = "1"
	case roleCopier:
	case roleCheck: // none that would write to the file
		return []pragma{{"foreign_keys", "on", "1"}, {"trusted_schema", "off", "0"}, {"query_only", "1", "1"}}
	}
	return []pragma{
		{"busy_timeout", "10000", "10000"}, // first: setting the others may meet a lock
		{"journal_mode", "wal", "wal"},
		sync,
		{"foreign_keys", "on", "1"},
		{"temp_store", "memory", "2"},
		{"journal_size_limit", "67108864", "67108864"},
		{"cache_size", cache, cache},
		{"trusted_schema", "off", "0"},
		{"query_only", queryOnly, queryOnly},
	}
}

// dsn is the connection string of a database file for a role.
func (r role) dsn(path string) string {
	q := url.Values{}
	for _, p := range r.pragmas() {
		switch p.name {
		case "query_only": // as a key of its own the driver applies it last
			q.Set("_query_only", p.set)
		default: // the driver applies busy_timeout first
			q.Add("_pragma", p.name+"("+p.set+")")
		}
	}
	switch r {
	case roleWriter, roleScratch:
		q.Set("_txlock", "immediate")
	case roleCheck:
		q.Set("mode", "ro")
		q.Set("immutable", "1")
	case roleReader, roleCopier:
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// openHandle opens a database file for a role, with at most n connections. No
// connection is made yet.
func openHandle(path string, r role, n int) (*sql.DB, error) {
	base, err := sqlite.NewConnector(r.dsn(path))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db := sql.OpenDB(checkedConnector{base, r})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// checkedConnector opens connections and reads every setting back, since
// SQLite ignores what it does not understand instead of failing.
type checkedConnector struct {
	driver.Connector
	role role
}

// Connect implements driver.Connector.
func (c checkedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range c.role.pragmas() {
		got, err := ask(ctx, conn, "PRAGMA "+p.name)
		if err == nil && got != p.want {
			err = fmt.Errorf("SQLite has %s = %s on a connection that asked for %s", p.name, got, p.want)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("check a database connection: %w", err), conn.Close())
		}
	}
	return newPreparedConn(conn)
}

// ask runs a query with one value for an answer on a raw connection.
func ask(ctx context.Context, conn driver.Conn, query string) (string, error) {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return "", fmt.Errorf("%T cannot query", conn)
	}
	rows, err := q.QueryContext(ctx, query, nil)
	if err != nil {
		return "", fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if len(row) != 1 {
		return "", fmt.Errorf("%s: %d columns instead of one", query, len(row))
	}
	if err := rows.Next(row); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s: %w", query, err)
	}
	return fmt.Sprint(row[0]), nil
}

// oldestSQLite is the first release without the defect that could lose writes
// when a checkpoint met a new writer (rivals.md P1).
const oldestSQLite = "3.51.3"

// SQLiteVersion is the version of the SQLite that this program was built with,
// such as 3.54.1.
func SQLiteVersion() string { return lib.SQLITE_VERSION }

// checkVersion opens the first connection and refuses a SQLite older than
// oldestSQLite.
func checkVersion(ctx context.Context, db *sql.DB) error {
	var have string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&have); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	if !atLeast(have, oldestSQLite) {
		return fmt.Errorf("this program was built with SQLite %s, which can lose writes; build it with %s or newer", have, oldestSQLite)
	}
	return nil
}

// atLeast compares dotted versions number by number. What is not a number
// counts as 0.
func atLeast(have, want string) bool {
	h, w := strings.Split(have, "."), strings.Split(want, ".")
	for i := range w {
		var a int
		if i < len(h) {
			a, _ = strconv.Atoi(h[i])
		}
		b, _ := strconv.Atoi(w[i])
		if a != b {
			return a > b
		}
	}
	return true
}
