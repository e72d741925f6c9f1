package store

import (
	"context"
	"database/sql/driver"
	"os"
	"path/filepath"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/posttrainarena/arena/protocol/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// noon is the time of stores that need no other.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// openTest opens a store whose insides a test looks at. Tests of what callers
// see are in package store_test and use storetest.
func openTest(t testing.TB, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{Dir: filepath.Join(t.TempDir(), "data"), Now: noon}
	for _, f := range change {
		f(&o)
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustConnector(t testing.TB, dsn string) driver.Connector {
	t.Helper()
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
