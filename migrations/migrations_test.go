package migrations_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/posttrainarena/arena/migrations"
)

func TestAllAreInOrderAndEachSaysWhatItAdds(t *testing.T) {
	all, err := migrations.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 9 {
		t.Fatalf("found %d migrations, want at least the nine of the first release", len(all))
	}
	var names []string
	for i, m := range all {
		if m.Number != i+1 {
			t.Errorf("%s has number %d, want %d", m.Name, m.Number, i+1)
		}
		if !strings.HasPrefix(m.SQL, "-- ") {
			t.Errorf("%s does not begin with a comment that says what it adds", m.Name)
		}
		names = append(names, m.Name)
	}
	if !slices.IsSorted(names) {
		t.Errorf("the names are not in order: %q", names)
	}
}

func TestReadRefusesWhatCannotBeOrdered(t *testing.T) {
	for _, c := range []struct {
		about string
		files []string
		want  string // part of the error; empty when it is fine
	}{
		{"consecutive numbers", []string{"0001_a.sql", "0002_b.sql"}, ""},
		{"no migrations", nil, ""},
		{"a gap", []string{"0001_a.sql", "0003_c.sql"}, "0002 is next"},
		{"two with one number", []string{"0001_a.sql", "0001_b.sql"}, "0002 is next"},
		{"a start at zero", []string{"0000_a.sql"}, "0001 is next"},
		{"a name without a number", []string{"schema.sql"}, "NNNN_what.sql"},
		{"a short number", []string{"1_a.sql"}, "NNNN_what.sql"},
	} {
		t.Run(c.about, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for _, f := range c.files {
				fsys[f] = &fstest.MapFile{Data: []byte("-- nothing\n")}
			}
			all, err := migrations.Read(fsys)
			if c.want == "" && (err != nil || len(all) != len(c.files)) {
				t.Fatalf("Read = %d migrations, %v", len(all), err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("Read = %v, want an error with %q", err, c.want)
			}
		})
	}
}
