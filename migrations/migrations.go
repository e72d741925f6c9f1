// Package migrations holds the steps that lead from an empty file to the
// arena's database, in order. A step that was released is never edited: a
// change is a new file. schema.sql is the picture of the result, generated for
// readers; nothing executes it.
package migrations

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
)

//go:embed [0-9]*.sql
var files embed.FS

// Migration is one step.
type Migration struct {
	Number   int    // counted from 1, without gaps
	Name     string // the file's name without .sql, such as 0001_record
	SQL      string
	Checksum [sha256.Size]byte // of the file's bytes
}

// All returns the arena's migrations in order.
func All() ([]Migration, error) { return Read(files) }

var namePattern = regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)

// Read returns the migrations in the root of fsys: files called NNNN_what.sql,
// numbered from 0001 without gaps. It refuses any other numbering, because two
// branches that both added a step must notice when they meet.
func Read(fsys fs.FS) ([]Migration, error) {
	entries, err := fs.ReadDir(fsys, ".") // sorted by name, hence by number
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	var all []Migration
	for _, e := range entries {
		m := namePattern.FindStringSubmatch(e.Name())
		if m == nil {
			return nil, fmt.Errorf("migration %q must be called NNNN_what.sql, with four digits and lowercase words", e.Name())
		}
		number, err := strconv.Atoi(m[1])
		if err != nil || number != len(all)+1 {
			return nil, fmt.Errorf("migration %q is out of order: number %04d is next", e.Name(), len(all)+1)
		}
		sql, err := fs.ReadFile(fsys, e.Name())
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", e.Name(), err)
		}
		name := e.Name()[:len(e.Name())-len(".sql")]
		all = append(all, Migration{Number: number, Name: name, SQL: string(sql), Checksum: sha256.Sum256(sql)})
	}
	return all, nil
}
