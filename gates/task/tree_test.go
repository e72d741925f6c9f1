package task_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/task"
)

func TestReadTreeListsEverything(t *testing.T) {
	fsys := files{
		"b/c.txt":     "hello\n",
		"a":           "",
		"link":        "-> b/c.txt",
		"dangling":    "-> /etc/passwd",
		"b/.hidden":   "x",
		".git/config": "left out",
		"é.txt":       "accent",
	}.fs()
	fsys["run.sh"] = &fstest.MapFile{Data: []byte("#!/bin/sh\n"), Mode: 0o755}
	tree, err := task.ReadTree(fsys, task.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	// The ids are what "git hash-object" prints.
	want := []task.Entry{
		{Path: "a", Size: 0, Blob: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"},
		{Path: "b/.hidden", Size: 1, Blob: "c1b0730e0133447badcfd47fd144e254807b06e1"},
		{Path: "b/c.txt", Size: 6, Blob: "ce013625030ba8dba906f756967f9e9ca394464a"},
		{Path: "dangling", Size: 11, Blob: "3594e94c04db171e2767224db355f514b13715c5", Kind: task.Symlink},
		{Path: "link", Size: 7, Blob: "690790d928eb59a1f52b4591660b8e21c1e615a6", Kind: task.Symlink},
		{Path: "run.sh", Size: 10, Blob: "1a2485251c33a70432394c93fb89330ef214bfc9", Executable: true},
		{Path: "é.txt", Size: 6, Blob: "7236d99217643aadf49a8b901249a540d25bf086"},
	}
	if diff := cmp.Diff(want, tree.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestTreeOpensOnlyListedFiles(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("outside"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "plain"), []byte("inside"), 0o644))
	must(t, os.Symlink(secret, filepath.Join(dir, "link")))
	must(t, os.Symlink(filepath.Dir(secret), filepath.Join(dir, "linked")))
	tree, err := task.ReadTree(os.DirFS(dir), task.DefaultLimits())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "late"), []byte("added later"), 0o644))
	if content, err := fs.ReadFile(tree.Files, "plain"); err != nil || string(content) != "inside" {
		t.Errorf("plain: %q, %v", content, err)
	}
	for _, name := range []string{"link", "linked/secret", "linked", "late", "../secret", "/etc/passwd"} {
		if content, err := fs.ReadFile(tree.Files, name); err == nil {
			t.Errorf("%s was opened and says %q", name, content)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadTreeRefuses(t *testing.T) {
	limits := task.DefaultLimits()
	limits.MaxFiles, limits.MaxTotalBytes = 30, 100
	many := files{}
	for i := range 31 {
		many[fmt.Sprintf("f%d", i)] = ""
	}
	for _, test := range []struct {
		name  string
		files files
		want  error
		says  string
	}{
		{"names that are not UTF-8", files{"a\xff": ""}, task.ErrNotUTF8, `"a\xff"`},
		{"control characters", files{"a\nb": ""}, task.ErrControl, `"a\nb"`},
		{"files that differ in case", files{"Readme": "", "README": ""}, task.ErrTwin, "README"},
		{"directories that differ in case", files{"Data/a": "", "data/b": ""}, task.ErrTwin, "Data"},
		{"a file and a directory that differ in case", files{"x/a": "", "X": ""}, task.ErrTwin, ""},
		{"composed and decomposed letters", files{"\u00e9": "", "e\u0301": ""}, task.ErrTwin, ""},
		{"letters that fold to several", files{"stra\u00dfe": "", "STRASSE": ""}, task.ErrTwin, ""},
		{"too many files", many, task.ErrTooManyFiles, "30"},
		{"too many bytes", files{"a": strings.Repeat("x", 60), "b": strings.Repeat("x", 60)}, task.ErrTooLarge, `"b"`},
		{"too many bytes in one file", files{"a": strings.Repeat("x", 200)}, task.ErrTooLarge, ""},
		{"paths that are too deep", files{strings.Repeat("d/", 20) + "f": ""}, task.ErrTooDeep, "20"},
		{"paths that are too long", files{strings.Repeat("n", 5000): ""}, task.ErrTooLong, "4096"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := task.ReadTree(test.files.fs(), limits)
			var refused *task.TreeError
			if !errors.Is(err, test.want) || !errors.As(err, &refused) {
				t.Fatalf("error %v; want %v", err, test.want)
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %q does not mention %q", err, test.says)
			}
		})
	}
	t.Run("devices", func(t *testing.T) {
		_, err := task.ReadTree(fstest.MapFS{"null": {Mode: fs.ModeDevice}}, limits)
		if !errors.Is(err, task.ErrIrregular) {
			t.Errorf("error %v; want %v", err, task.ErrIrregular)
		}
	})
	t.Run("nothing at the limits", func(t *testing.T) {
		ok := files{strings.Repeat("d/", 19) + "f": strings.Repeat("x", 100)}
		if _, err := task.ReadTree(ok.fs(), limits); err != nil {
			t.Error(err)
		}
	})
}

func TestNewTreeRefusesImpossibleListings(t *testing.T) {
	blob := strings.Repeat("0", 40)
	for _, test := range []struct {
		name    string
		entries []task.Entry
		want    error
	}{
		{"absolute paths", []task.Entry{{Path: "/etc/passwd", Blob: blob}}, task.ErrEscape},
		{"paths that go up", []task.Entry{{Path: "a/../../b", Blob: blob}}, task.ErrEscape},
		{"empty paths", []task.Entry{{Path: "", Blob: blob}}, task.ErrEscape},
		{"empty components", []task.Entry{{Path: "a//b", Blob: blob}}, task.ErrEscape},
		{"the root itself", []task.Entry{{Path: ".", Blob: blob}}, task.ErrEscape},
		{"a path listed twice", []task.Entry{{Path: "a", Blob: blob}, {Path: "a", Blob: blob}}, task.ErrDuplicate},
		{"a file that is also a directory", []task.Entry{{Path: "a", Blob: blob}, {Path: "a/b", Blob: blob}}, task.ErrDuplicate},
		{"negative sizes", []task.Entry{{Path: "a", Blob: blob, Size: -1}}, task.ErrTooLarge},
		{"sizes that overflow", []task.Entry{{Path: "a", Blob: blob, Size: 1 << 62}, {Path: "b", Blob: blob, Size: 1 << 62}}, task.ErrTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := task.NewTree(fstest.MapFS{}, test.entries, task.DefaultLimits()); !errors.Is(err, test.want) {
				t.Errorf("error %v; want %v", err, test.want)
			}
		})
	}
}

// shrinking is a file system whose files are shorter than their listing says.
type shrinking struct{ fstest.MapFS }

func (s shrinking) Open(name string) (fs.File, error) {
	if name == "." {
		return s.MapFS.Open(name)
	}
	return fstest.MapFS{name: {Data: []byte("now shorter")}}.Open(name)
}

func TestReadTreeNoticesChanges(t *testing.T) {
	_, err := task.ReadTree(shrinking{fstest.MapFS{"a": {Data: make([]byte, 100)}}}, task.DefaultLimits())
	if !errors.Is(err, task.ErrChanged) {
		t.Errorf("error %v; want %v", err, task.ErrChanged)
	}
}

// A directory, a tar stream and a file system in memory with the same content must look the same.
func TestSourcesAgree(t *testing.T) {
	content := collection(map[string]files{"tally": postTrain().with(files{"environment/l": "-> poem.txt"}), "sum": native()})
	dir := t.TempDir()
	for name, text := range content {
		place := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(place), 0o755))
		if target, link := strings.CutPrefix(text, "-> "); link {
			must(t, os.Symlink(target, place))
			continue
		}
		must(t, os.WriteFile(place, []byte(text), 0o644))
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	want := content.tree(t)
	wantCollection, wantProblems := task.ReadCollection(want, "", task.DefaultLimits())
	for name, fsys := range map[string]fs.FS{"directory": os.DirFS(dir), "root": root.FS(), "tar": untar(t, archive(t, dir))} {
		got, err := task.ReadTree(fsys, task.DefaultLimits())
		must(t, err)
		if diff := cmp.Diff(want.Entries, got.Entries); diff != "" {
			t.Errorf("%s lists other files (-memory +%s):\n%s", name, name, diff)
		}
		collection, problems := task.ReadCollection(got, "", task.DefaultLimits())
		if diff := cmp.Diff(wantProblems, problems); diff != "" {
			t.Errorf("%s has other problems:\n%s", name, diff)
		}
		for i, p := range collection.Packages {
			if p.Prompt != wantCollection.Packages[i].Prompt || p.ContentHash() != wantCollection.Packages[i].ContentHash() {
				t.Errorf("%s: package %s differs", name, p.Name)
			}
		}
	}
}

func archive(t testing.TB, dir string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.AddFS(os.DirFS(dir)))
	must(t, w.Close())
	return &b
}

func untar(t testing.TB, b *bytes.Buffer) fs.FS {
	t.Helper()
	m := fstest.MapFS{}
	r := tar.NewReader(b)
	for {
		h, err := r.Next()
		if err != nil {
			return m
		}
		var data bytes.Buffer
		_, err = data.ReadFrom(r)
		must(t, err)
		switch h.Typeflag {
		case tar.TypeReg:
			m[h.Name] = &fstest.MapFile{Data: data.Bytes(), Mode: h.FileInfo().Mode()}
		case tar.TypeSymlink:
			m[h.Name] = &fstest.MapFile{Data: []byte(h.Linkname), Mode: fs.ModeSymlink | 0o777}
		}
	}
}

func TestGitTreeIDKnownTrees(t *testing.T) {
	empty, err := task.GitTreeID(nil)
	must(t, err)
	if empty != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("the empty tree is %s", empty)
	}
	for _, entries := range [][]task.Entry{
		{{Path: "a", Blob: "short"}},
		{{Path: "a", Blob: strings.Repeat("g", 40)}},
		{{Path: "a", Blob: strings.Repeat("0", 40)}, {Path: "a", Blob: strings.Repeat("0", 40)}},
		{{Path: "a", Blob: strings.Repeat("0", 40)}, {Path: "a.b", Blob: strings.Repeat("0", 40)}, {Path: "a/b", Blob: strings.Repeat("0", 40)}},
		{{Path: "a//b", Blob: strings.Repeat("0", 40)}},
	} {
		if id, err := task.GitTreeID(entries); err == nil {
			t.Errorf("%+v got the id %s", entries, id)
		}
	}
}

// The ids must be those of git itself, for names whose order is easy to get wrong.
func TestGitTreeIDEqualsGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed, so there is nothing to compare with")
	}
	rng := rand.New(rand.NewPCG(7, 7))
	parts := []string{"a", "a-b", "a.b", "a0", "ab", "b", "é", "z y", "-", "~"}
	for round := range 8 {
		dir := t.TempDir()
		for range 1 + rng.IntN(25) {
			place := dir
			for range rng.IntN(3) {
				place = filepath.Join(place, "d"+parts[rng.IntN(len(parts))])
			}
			must(t, os.MkdirAll(place, 0o755))
			place = filepath.Join(place, parts[rng.IntN(len(parts))])
			switch rng.IntN(4) {
			case 0:
				os.Symlink("target/"+parts[rng.IntN(len(parts))], place) // may exist already, which is fine
			case 1:
				os.WriteFile(place, []byte("#!/bin/sh\n"), 0o755)
			default:
				os.WriteFile(place, make([]byte, rng.IntN(3000)), 0o644)
			}
		}
		tree, err := task.ReadTree(os.DirFS(dir), task.DefaultLimits())
		must(t, err)
		got, err := task.GitTreeID(tree.Entries)
		must(t, err)
		run := func(args ...string) string {
			cmd := exec.Command(git, append([]string{"-C", dir, "-c", "core.autocrlf=false", "-c", "core.fileMode=true"}, args...)...)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("git %v: %v", args, err)
			}
			return strings.TrimSpace(string(out))
		}
		run("init", "--quiet", "--object-format=sha1")
		run("add", "--all", "--force", ".")
		if want := run("write-tree"); got != want {
			t.Errorf("round %d: GitTreeID = %s; git says %s for %+v", round, got, want, tree.Entries)
		}
	}
}

func TestContentHash(t *testing.T) {
	entries := []task.Entry{
		{Path: "a/b", Blob: strings.Repeat("1", 40)},
		{Path: "a-b", Blob: strings.Repeat("2", 40), Kind: task.Symlink},
		{Path: "é", Blob: strings.Repeat("3", 40), Executable: true},
	}
	// printf '%s\0%s\n' a-b 2222… a/b 1111… é 3333… | sha256sum
	const want = "sha256:c6676a2cd2c95c564222a13e92e196c8cc4cd564f7da81a64730b4018beb9b3d"
	if got := task.ContentHash(entries); got != want {
		t.Errorf("ContentHash = %s; want %s", got, want)
	}
	entries[2].Executable = false
	entries[0], entries[1] = entries[1], entries[0]
	if got := task.ContentHash(entries); got != want {
		t.Errorf("order or mode changed the hash to %s", got)
	}
	entries[2].Blob = strings.Repeat("4", 40)
	if task.ContentHash(entries) == want {
		t.Error("another content has the same hash")
	}
}

func FuzzReadTree(f *testing.F) {
	f.Add("a/b", "A/c", "x", "-> y")
	f.Add("e\u0301", "\u00e9", "", "")
	f.Add("a\xff", "b", "data", "-> /")
	f.Fuzz(func(t *testing.T, first, second, content, other string) {
		if !fs.ValidPath(first) || !fs.ValidPath(second) || strings.HasPrefix(first+"/", second+"/") || strings.HasPrefix(second+"/", first+"/") || first == "." || second == "." {
			return // no file system holds these; the one in memory follows a link above itself for ever
		}
		tree, err := task.ReadTree(files{first: content, second: other}.fs(), task.DefaultLimits())
		if err != nil {
			return
		}
		if _, err := task.GitTreeID(tree.Entries); err != nil {
			t.Errorf("a tree was accepted that has no git id: %v", err)
		}
		for _, e := range tree.Entries {
			if !fs.ValidPath(e.Path) {
				t.Errorf("path %q was accepted", e.Path)
			}
			if _, err := fs.ReadFile(tree.Files, e.Path); err != nil && e.Kind == task.File {
				t.Errorf("%q is listed and cannot be opened: %v", e.Path, err)
			}
		}
		task.ReadCollection(tree, "", task.DefaultLimits())
		task.ReadPackages(tree, "", task.DefaultLimits())
	})
}
