package hubtest

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
)

// Place is a kind of source under test.
type Place struct {
	// Serve puts files there and returns how to open them below an entry path.
	Serve func(t *testing.T, files []File) func(ctx context.Context, entryPath string) (*hub.Snapshot, error)
	// Modes says that the place tells links and executables from plain files.
	Modes bool
	// Whole says that it opens everything, whatever the entry path.
	Whole bool
	// Submodules says that it can hold them.
	Submodules bool
}

// Conform checks what every source owes to whoever reads collections.
func Conform(t *testing.T, p Place) {
	files := []File{
		{Path: "README.md", Text: "outside of the collection\n"},
		{Path: "pack/submission.yaml", Text: "team_name: x\n"},
		{Path: "pack/envs/a/task.md", Text: "---\n---\nDo it.\n"},
		{Path: "pack/envs/a/same.txt", Text: "the same\n"},
		{Path: "pack/envs/b/same.txt", Text: "the same\n"},
		{Path: "pack/envs/b/empty", Text: ""},
		{Path: "pack/envs/b/a b#c?d%25+é.txt", Text: "odd name\n"},
		{Path: "pack/envs/b/bytes.bin", Text: "\x00\xff\r\n\x1f\x8b"},
		{Path: "pack/envs/b/run.sh", Text: "#!/bin/sh\n", Mode: "100755"},
		{Path: "pack/envs/b/link", Text: "../a/task.md", Mode: "120000"},
		{Path: "pack/envs/b/large.txt", Text: strings.Repeat("0123456789abcdef", 1<<17)},
	}
	if p.Submodules {
		files = append(files, File{Path: "pack/envs/b/sub", Mode: "160000"})
	}
	if p.Whole {
		files = files[1:]
	}
	open := p.Serve(t, files)
	snapshot := func(t *testing.T, entry string) *hub.Snapshot {
		t.Helper()
		s, err := open(t.Context(), entry)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(func() {
			if err := errors.Join(s.Release(), s.Release()); err != nil {
				t.Errorf("release twice: %v", err)
			}
		})
		return s
	}
	inside := slices.DeleteFunc(slices.Clone(files), func(f File) bool { return !strings.HasPrefix(f.Path, "pack/") })
	want := Entries(inside, p.Modes)

	t.Run("the listing says what git holds", func(t *testing.T) {
		s := snapshot(t, "pack")
		if !protocol.IsCommit(s.Commit) {
			t.Errorf("commit %q", s.Commit)
		}
		tree, err := task.NewTree(s.Files, entries(s.Entries), task.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree.Entries); diff != "" {
			t.Errorf("listing (-want +got):\n%s", diff)
		}
		if got, want := task.ContentHash(tree.Entries), task.ContentHash(want); got != want {
			t.Errorf("the identity of the content is %s, not %s as everywhere else", got, want)
		}
	})
	t.Run("every listed file opens and nothing else", func(t *testing.T) {
		s := snapshot(t, "pack")
		tree, err := task.NewTree(s.Files, entries(s.Entries), task.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range inside {
			i := slices.IndexFunc(want, func(e task.Entry) bool { return e.Path == f.Path })
			b, err := fs.ReadFile(tree.Files, f.Path)
			switch {
			case want[i].Kind != task.File:
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s opens, or fails with %v: links and submodules are not followed", f.Path, err)
				}
			case err != nil || string(b) != f.Text:
				t.Errorf("%s: %d bytes, %v; want %d", f.Path, len(b), err, len(f.Text))
			}
		}
		for _, name := range []string{"pack/envs/none", "../etc/passwd", "/etc/passwd", "pack/envs/b/sub/x", ".git/config"} {
			if _, err := fs.ReadFile(tree.Files, name); err == nil {
				t.Errorf("%s opens", name)
			}
		}
	})
	t.Run("the same again is the same", func(t *testing.T) {
		if a, b := snapshot(t, "pack"), snapshot(t, "pack"); a.Commit != b.Commit {
			t.Errorf("%s, then %s", a.Commit, b.Commit)
		}
	})
	t.Run("a folder that is not there is empty", func(t *testing.T) {
		if p.Whole {
			t.Skip("this place opens everything")
		}
		if s := snapshot(t, "nowhere/at all"); len(s.Entries) != 0 {
			t.Errorf("%d entries", len(s.Entries))
		}
	})
	t.Run("an ended context ends it", func(t *testing.T) {
		if p.Whole {
			t.Skip("this place is a stream that is being read")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if s, err := open(ctx, "pack"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", s, err)
		}
	})
}

// entries are a snapshot's entries as gates take them.
func entries(files []protocol.TreeFile) []task.Entry {
	out := make([]task.Entry, 0, len(files))
	for _, f := range files {
		e := task.Entry{Path: f.Path, Size: f.Size, Blob: f.Blob, Executable: f.Kind == protocol.FileExecutable}
		switch f.Kind {
		case protocol.FileSymlink:
			e.Kind = task.Symlink
		case protocol.FileSubmodule:
			e.Kind = task.Submodule
		case protocol.FileRegular, protocol.FileExecutable:
			e.Kind = task.File
		}
		out = append(out, e)
	}
	return out
}
