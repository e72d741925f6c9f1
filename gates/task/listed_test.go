package task

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// files opens regular files by their path and nothing else, as a code host does.
type files map[string]string

func (f files) Open(name string) (fs.File, error) {
	text, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return fstest.MapFS{name: {Data: []byte(text), Mode: 0o444}}.Open(name)
}

// TestAListingIsEnough: directories come from the listing, also where the system
// below has none. A build context is read by them: without, no copy would be seen.
func TestAListingIsEnough(t *testing.T) {
	base := files{"envs/a/task.md": "x", "envs/a/environment/data/run.sh": "echo", "envs/b/task.md": "yy", "unlisted": "z"}
	tree, err := NewTree(base, []Entry{
		{Path: "envs/b/task.md", Size: 2},
		{Path: "envs/a/environment/data/run.sh", Size: 4, Executable: true},
		{Path: "envs/a/environment/link", Size: 3, Kind: Symlink},
		{Path: "envs/a/task.md", Size: 1},
		{Path: "vendor", Kind: Submodule},
	}, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	var walked []string
	if err := fs.WalkDir(tree.Files, ".", func(name string, d fs.DirEntry, err error) error {
		walked = append(walked, name+" "+d.Type().String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := ". d---------, envs d---------, envs/a d---------, envs/a/environment d---------, envs/a/environment/data d---------, " +
		"envs/a/environment/data/run.sh ----------, envs/a/environment/link L---------, envs/a/task.md ----------, envs/b d---------, envs/b/task.md ----------, vendor ?---------"
	if got := strings.Join(walked, ", "); got != want {
		t.Errorf("walked %s\nwant   %s", got, want)
	}
	for _, name := range []string{"unlisted", "envs/a/environment/link", "vendor", "envs/c", "../envs", "/envs"} {
		if f, err := tree.Files.Open(name); err == nil {
			_ = f.Close()
			t.Errorf("%s can be opened", name)
		}
	}
	plain, err := NewTree(base, []Entry{{Path: "envs/a/task.md", Size: 1}, {Path: "envs/b/task.md", Size: 2}}, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(plain.Files, "envs/a/task.md", "envs/b/task.md"); err != nil {
		t.Error(err)
	}
}
