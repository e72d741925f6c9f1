package store

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// listQuery is one of the arena's lists: rows ordered by time and id, newest
// first.
type listQuery[T any] struct {
	name    string // part of its cursors, so that those of another list are refused
	columns string
	from    string // tables
	at, id  string // the columns that order it
	where   filter
	scan    func(scanner) (T, error)
	key     func(T) (at int64, id string) // the values of those columns
}

// filter is what rows have to fulfil: conditions that hold together, and their
// arguments.
type filter struct {
	conditions []string
	args       []any
}

// equal requires a column to have a value, unless the value is empty.
func (f *filter) equal(column, value string) {
	if value != "" {
		f.conditions = append(f.conditions, column+" = ?")
		f.args = append(f.args, value)
	}
}

// where is the filter as a clause; empty when everything is wanted.
func (f *filter) where() string {
	if len(f.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.conditions, " AND ")
}

// list reads one page of a list and the cursor of the next, empty at the end.
// A page starts strictly after the row that ended the previous one, wherever
// that is by now, so rows that were added meanwhile move nothing.
func list[T any](ctx context.Context, t *tx, p protocol.Page, q listQuery[T]) ([]T, string, error) {
	f := q.where
	if p.Cursor != "" {
		at, id, err := parseCursor(q.name, p.Cursor)
		if err != nil {
			return nil, "", err
		}
		f.conditions = append(f.conditions, "("+q.at+", "+q.id+") < (?, ?)")
		f.args = append(f.args, at, id)
	}
	query := "SELECT " + q.columns + " FROM " + q.from + f.where() + " ORDER BY " + q.at + " DESC, " + q.id + " DESC LIMIT ?"
	rows, err := t.QueryContext(ctx, query, append(f.args, p.Rows()+1)...)
	all, err := many(rows, err, q.scan)
	if err != nil || len(all) <= p.Rows() {
		return all, "", err
	}
	all = all[:p.Rows()]
	at, id := q.key(all[len(all)-1])
	return all, formatCursor(q.name, at, id), nil
}

// formatCursor writes the cursor of the rows after (at, id) in a list.
func formatCursor(list string, at int64, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + " " + strconv.FormatInt(at, 10) + " " + id))
}

// maxCursor is the length of the longest cursor that is looked at.
const maxCursor = 600

// parseCursor reads a cursor of a list. Anything that formatCursor does not
// write is ErrCursor, also where base64 and ParseInt would have read it: line
// breaks, loose last bits, a sign, zeros in front.
func parseCursor(list, cursor string) (at int64, id string, err error) {
	if len(cursor) > maxCursor {
		return 0, "", protocol.ErrCursor
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, "", protocol.ErrCursor
	}
	parts := strings.SplitN(string(b), " ", 3)
	if len(parts) != 3 || parts[0] != list {
		return 0, "", protocol.ErrCursor
	}
	at, err = strconv.ParseInt(parts[1], 10, 64)
	if err != nil || formatCursor(list, at, parts[2]) != cursor {
		return 0, "", protocol.ErrCursor
	}
	return at, parts[2], nil
}
