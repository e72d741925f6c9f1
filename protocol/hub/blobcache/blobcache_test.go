package blobcache_test

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

func git(text string) blobcache.Key {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))
	return blobcache.Key{Git: hex.EncodeToString(sum[:]), Size: int64(len(text))}
}

func lfs(text string) blobcache.Key {
	sum := sha256.Sum256([]byte(text))
	return blobcache.Key{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text))}
}

// clock ticks a second each time it is asked.
func clock() func() time.Time {
	var n atomic.Int64
	return func() time.Time { return time.Unix(1_700_000_000+n.Add(1), 0) }
}

func open(t *testing.T, dir string, max int64) *blobcache.Cache {
	t.Helper()
	c, err := blobcache.Open(dir, max, clock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func read(c *blobcache.Cache, k blobcache.Key) string {
	b, err := fs.ReadFile(c.FS(context.Background(), map[string]blobcache.Key{"f": k}, func(context.Context, string, blobcache.Key) error { return fs.ErrNotExist }), "f")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// files counts what is in a directory.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOnlyWhatItsKeySays: a body enters under its own hash or not at all.
func TestOnlyWhatItsKeySays(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1<<20)
	for _, k := range []blobcache.Key{git("hello"), lfs("hello")} {
		for name, body := range map[string]string{"another": "hallo", "shorter": "hell", "longer": "hello!", "nothing": ""} {
			if err := c.Put(k, strings.NewReader(body)); !errors.Is(err, blobcache.ErrContent) {
				t.Errorf("%s: %v", name, err)
			}
		}
		broken := errors.New("broken")
		if err := c.Put(k, iotest.ErrReader(broken)); !errors.Is(err, broken) {
			t.Errorf("a body that breaks off: %v", err)
		}
		if c.Has(k) || len(files(t, dir)) > 1 {
			t.Errorf("something stayed: %q", files(t, dir))
		}
		if err := c.Put(k, strings.NewReader("hello")); err != nil || !c.Has(k) || read(c, k) != "hello" {
			t.Errorf("%v, %q", err, read(c, k))
		}
	}
	for _, k := range []blobcache.Key{{}, {Git: "../../etc/passwd"}, {Git: strings.Repeat("A", 40)}, {SHA256: "x"}, {Git: git("").Git, Size: -1}} {
		if err := c.Put(k, strings.NewReader("")); err == nil || c.Has(k) {
			t.Errorf("%+v is taken", k)
		}
	}
}

// TestDamageCountsAsMissing: what the disk changed is fetched again.
func TestDamageCountsAsMissing(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1<<20)
	for _, damage := range []string{"hallo", "", "hello and more"} {
		if err := c.Put(git("hello"), strings.NewReader("hello")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files(t, dir)[0], []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		fetched := 0
		view := c.FS(t.Context(), map[string]blobcache.Key{"f": git("hello")}, func(_ context.Context, _ string, k blobcache.Key) error {
			fetched++
			return c.Put(k, strings.NewReader("hello"))
		})
		if b, err := fs.ReadFile(view, "f"); err != nil || string(b) != "hello" || fetched != 1 {
			t.Errorf("%q after %d fetches, %v", b, fetched, err)
		}
	}
}

// TestBound: what was not used for longest goes first, and what a crash left
// unfinished goes at the start.
func TestBound(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1000)
	text := func(i int) string { return fmt.Sprintf("%0100d", i) }
	for i := range 10 {
		if err := c.Put(git(text(i)), strings.NewReader(text(i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		if i != 3 {
			read(c, git(text(i)))
		}
	}
	if err := c.Put(git(text(10)), strings.NewReader(text(10))); err != nil {
		t.Fatal(err)
	}
	if c.Has(git(text(3))) || !c.Has(git(text(9))) || len(files(t, dir)) != 9 {
		t.Errorf("3 stays %v, 9 stays %v, %d files", c.Has(git(text(3))), c.Has(git(text(9))), len(files(t, dir)))
	}
	part := files(t, dir)[0] + ".7.part"
	if err := os.WriteFile(part, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir, 1000)
	if _, err := os.Stat(part); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unfinished file is still there: %v", err)
	}
}

// TestFill: each content is fetched once, a failure stops the rest and what has
// arrived stays.
func TestFill(t *testing.T) {
	c := open(t, t.TempDir(), 1<<20)
	list := map[string]blobcache.Key{"a": git("same"), "b": git("same"), "c": git("other")}
	var calls atomic.Int64
	fetch := func(_ context.Context, path string, k blobcache.Key) error {
		calls.Add(1)
		return c.Put(k, strings.NewReader(map[string]string{"a": "same", "b": "same", "c": "other"}[path]))
	}
	for range 2 {
		if err := c.Fill(t.Context(), list, 4, fetch); err != nil || calls.Load() != 2 {
			t.Errorf("%d fetches, %v", calls.Load(), err)
		}
	}
	broken := errors.New("broken")
	list["d"], list["e"] = git("d"), git("e")
	err := c.Fill(t.Context(), list, 1, func(ctx context.Context, path string, k blobcache.Key) error {
		if path == "d" {
			return broken
		}
		return c.Put(k, strings.NewReader(path))
	})
	if !errors.Is(err, broken) || len(c.Missing(list)) == 0 || !c.Has(git("same")) {
		t.Errorf("%v, missing %v", err, c.Missing(list))
	}
}
