package episode

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// picture describes a tree completely: kind, mode, owner, content, time.
func picture(t testing.TB, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		e, _, err := stat(name)
		if err != nil {
			return err
		}
		text := ""
		if e.mode.IsRegular() {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text = string(b)
		}
		mtime := e.mtime.UnixNano()
		if e.link != "" {
			mtime = 0 // a link's own time is not kept
		}
		all = append(all, fmt.Sprintf("%s %s %d:%d %q %q %d", strings.TrimPrefix(name, root), e.mode, e.uid, e.gid, e.link, text, mtime))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func plant(t testing.TB, root string) {
	t.Helper()
	for name, text := range map[string]string{"a": "one", "run.sh": "#!/bin/sh", "d/b": "two", "d/e/c": "", "d/e/conftest.py": "x"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Unix(1_600_000_000, 0)
	for _, err := range []error{
		os.Symlink("a", filepath.Join(root, "link")), os.Symlink("/nowhere", filepath.Join(root, "d", "dangling")), os.Mkdir(filepath.Join(root, "empty"), 0o700),
		os.Chmod(filepath.Join(root, "run.sh"), 0o755|fs.ModeSetuid), os.Chtimes(filepath.Join(root, "a"), old, old), os.Chtimes(filepath.Join(root, "d"), old, old),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever an agent does to a tree, restoring gives the tree back, to the mode,
// the link and the nanosecond.
func TestRestoreAfterAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "tree")
		if err != nil {
			rt.Fatal(err)
		}
		root := filepath.Join(dir, "app")
		plant(t, root)
		before := picture(t, root)
		p, err := snapshot(t.Context(), []string{root}, filepath.Join(dir, "store"))
		if err != nil {
			rt.Fatal(err)
		}
		names := []string{"a", "run.sh", "d", "d/b", "d/e", "d/e/c", "link", "empty", "new", "new/deep", "d/dangling", "d/e/conftest.py"}
		for range rapid.IntRange(1, 12).Draw(rt, "moves") {
			name := filepath.Join(root, rapid.SampledFrom(names).Draw(rt, "name"))
			was, _ := os.Lstat(name)
			switch rapid.IntRange(0, 6).Draw(rt, "move") {
			case 0:
				_ = os.WriteFile(name, []byte("changed"), 0o600)
			case 1:
				_ = os.RemoveAll(name)
			case 2:
				_ = os.MkdirAll(filepath.Join(name, "below"), 0o755)
			case 3:
				_ = os.Symlink(dir, name)
			case 4:
				mode := fs.FileMode(rapid.IntRange(0, 0o777).Draw(rt, "mode"))
				if os.Geteuid() != 0 {
					mode |= 0o700 // only root, which the server is, looks past that
				}
				_ = os.Chmod(name, mode)
			case 5: // the same size and time, other bytes
				if was != nil && was.Mode().IsRegular() {
					_ = os.WriteFile(name, slices.Repeat([]byte("!"), int(was.Size())), 0o600)
					_ = os.Chtimes(name, was.ModTime(), was.ModTime())
				}
			case 6:
				_ = os.Rename(name, filepath.Join(root, "moved"))
			}
		}
		if err := p.restore(t.Context()); err != nil {
			rt.Fatal(err)
		}
		if after := picture(t, root); !slices.Equal(before, after) {
			rt.Fatalf("before\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		if changed, err := p.changed(func(string) bool { return true }); err != nil || len(changed) != 0 {
			rt.Fatalf("changed after restoring: %q, %v", changed, err)
		}
	})
}

// Added, changed and removed files are all seen; only those that match count.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "app")
	plant(t, root)
	p, err := snapshot(t.Context(), []string{root}, filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(root, "new"), nil, 0o644), os.Remove(filepath.Join(root, "a")), os.Chmod(filepath.Join(root, "d/b"), 0o600), os.RemoveAll(filepath.Join(root, "d/e")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := p.changed(func(name string) bool { return name != root && filepath.Base(name) != "d" })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a", "d/b", "d/e", "d/e/c", "d/e/conftest.py", "new"}
	for i := range want {
		want[i] = filepath.Join(root, want[i])
	}
	if !slices.Equal(all, want) {
		t.Errorf("got %q\nwant %q", all, want)
	}
	one, err := p.changed(Instance{Guard: DefaultGuard()}.guards)
	if err != nil || len(one) != 1 {
		t.Errorf("guarded: %q, %v", one, err)
	}
}

// The places that a user may write to are found, none inside another, and a
// server's folder inside such a place is refused.
func TestWritable(t *testing.T) {
	root := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"bin": 0o755, "tmp": 0o777 | fs.ModeSticky, "var": 0o755, "var/tmp": 0o777, "var/tmp/in": 0o777, "work": 0o755, "srv": 0o755, "srv/arena": 0o777} {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(root, "bin", "open")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	skip := []string{filepath.Join(root, "srv/arena")}
	got, err := writable(t.Context(), root, 54321, []string{filepath.Join(root, "work")}, skip)
	var want []string
	for _, name := range []string{"bin/open", "tmp", "var/tmp", "work"} {
		want = append(want, filepath.Join(root, name))
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
	if err := os.Chmod(filepath.Join(root, "srv"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := writable(t.Context(), root, 54321, nil, skip); err == nil {
		t.Error("the server's folder lies in a place that anybody can write to")
	}
}

func TestReadReward(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]float64{"1\n": 1, "0": 0, " 0.5 ": 0.5, "": 0, "2": 0, "-1": 0, "NaN": 0, "one": 0, "1e400": 0, strings.Repeat("1", 100): 0} {
		name := filepath.Join(dir, "reward.txt")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readReward(name); got != want {
			t.Errorf("%q: %g, want %g", text, got, want)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.WriteFile(filepath.Join(dir, "reward.txt"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("reward.txt", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, dir, filepath.Join(dir, "none")} {
		if got := readReward(name); got != 0 {
			t.Errorf("%s: %g", name, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	p := parseStatus("Name:\tsh (Uid: 0)\nUmask:\t0022\nState:\tZ (zombie)\nPPid:\t1\nUid:\t2000\t2000\t2000\t2000\n")
	if p.state != "Z" || p.parent != 1 || !slices.Equal(p.uids, []string{"2000", "2000", "2000", "2000"}) {
		t.Errorf("%+v", p)
	}
}
