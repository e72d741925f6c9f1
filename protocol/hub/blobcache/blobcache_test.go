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

// TestDamageCountsAsMissing: what the disk changed is fetched again, of a body in a
// file of its own and of one that shares it.
func TestDamageCountsAsMissing(t *testing.T) {
	for name, text := range map[string]string{"small": "hello", "large": strings.Repeat("hello", 20_000)} {
		for what, damage := range map[string]func(string) string{
			"changed": func(s string) string { return strings.ReplaceAll(s, "hello", "hallo") }, "empty": func(string) string { return "" },
			"longer": func(s string) string { return s + " and more" }, "shorter": func(s string) string { return s[:len(s)-1] },
			"nonsense": func(s string) string { return strings.Repeat("?", len(s)) },
		} {
			for _, again := range []bool{false, true} { // by the same process, or by the next
				dir := t.TempDir()
				c := open(t, dir, 1<<20)
				if err := c.Put(git(text), strings.NewReader(text)); err != nil {
					t.Fatal(err)
				}
				kept, err := os.ReadFile(files(t, dir)[0])
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(files(t, dir)[0], []byte(damage(string(kept))), 0o600); err != nil {
					t.Fatal(err)
				}
				if again {
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
					c = open(t, dir, 1<<20)
				}
				fetched := 0
				view := c.FS(t.Context(), map[string]blobcache.Key{"f": git(text)}, func(_ context.Context, _ string, k blobcache.Key) error {
					fetched++
					return c.Put(k, strings.NewReader(text))
				})
				whole := name == "small" && what == "longer" // the end of a shared file is not looked at
				if b, err := fs.ReadFile(view, "f"); err != nil || string(b) != text || fetched > 1 || fetched == 0 != whole {
					t.Errorf("%s, %s: %d bytes after %d fetches, %v", name, what, len(b), fetched, err)
				}
			}
		}
	}
}

// TestSmallBodiesShareFiles: thousands of small bodies are a few files, the next
// process finds them all, and what a crash left of the last one harms no other.
func TestSmallBodiesShareFiles(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1<<30)
	text := func(i int) string { return fmt.Sprintf("body %d", i) }
	for i := range 2000 {
		k := git(text(i))
		if i%2 == 0 {
			k = lfs(text(i))
		}
		for range 2 { // twice is once
			if err := c.Put(k, strings.NewReader(text(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(files(t, dir)); n != 1 {
		t.Errorf("%d files", n)
	}
	info, err := os.Stat(files(t, dir)[0])
	if err != nil || info.Size() > 2000*(37+9) {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files(t, dir)[0], info.Size()-3); err != nil {
		t.Fatal(err)
	}
	c = open(t, dir, 1<<30)
	for i := range 1999 {
		k := git(text(i))
		if i%2 == 0 {
			k = lfs(text(i))
		}
		if got := read(c, k); got != text(i) {
			t.Fatalf("%d: %q", i, got)
		}
	}
	last := git(text(1999))
	if c.Has(last) {
		t.Error("half a body counts")
	}
	if err := c.Put(last, strings.NewReader(text(1999))); err != nil || read(c, last) != text(1999) || read(c, git(text(1))) != text(1) {
		t.Errorf("%v, %q", err, read(c, last))
	}
	if n := len(files(t, dir)); n != 2 {
		t.Errorf("%d files: nobody adds to what another process left", n)
	}
}

// TestBoundOfSharedFiles: the bound holds for small bodies too, and those that are
// in use stay.
func TestBoundOfSharedFiles(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 100_000)
	text := func(i int) string { return fmt.Sprintf("%0500d", i) }
	for i := range 2000 {
		if err := c.Put(git(text(i)), strings.NewReader(text(i))); err != nil {
			t.Fatal(err)
		}
		if i >= 100 && read(c, git(text(99))) != text(99) {
			t.Fatalf("what is in use was dropped before %d", i)
		}
	}
	var total int64
	for _, f := range files(t, dir) {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 110_000 || !c.Has(git(text(1999))) || c.Has(git(text(500))) {
		t.Errorf("%d bytes; the newest stays %v, an old one %v", total, c.Has(git(text(1999))), c.Has(git(text(500))))
	}
}

// TestBound: what was not used for longest goes first, and what a crash left
// unfinished goes at the start.
func TestBound(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1_000_000)
	text := func(i int) string { return fmt.Sprintf("%0100000d", i) }
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
	open(t, dir, 1_000_000)
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
