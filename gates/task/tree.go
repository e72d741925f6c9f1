package task

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Kind says what an entry is. Git knows no other kinds, and a tree with anything else in it is refused.
type Kind uint8

// The kinds of an entry.
const (
	File      Kind = iota // a regular file
	Symlink               // a symbolic link: its blob is the target's text; never followed
	Submodule             // another repository's commit; never entered
)

// Entry is one file of a tree.
type Entry struct {
	Path       string // slash-separated, relative to the tree's root
	Size       int64  // bytes; for a link the length of its target
	Blob       string // git object id, 40 hex digits
	Kind       Kind
	Executable bool // mode 100755 rather than 100644
}

// Tree is a listing of files with the file system that opens them. Entries are sorted by path bytes and pass the
// checks of [NewTree]; Files opens the listed regular files and lists the directories above what is listed, nothing else.
type Tree struct {
	Name    string // what the root directory is called; names a package that is the root itself. May be empty
	Files   fs.FS
	Entries []Entry
}

// NewTree makes a tree of a listing that something else produced, such as a repository's API. It refuses names that
// are not UTF-8 or contain control characters, paths that escape or are too long or deep, paths that collide when
// case is folded, and listings above the limits, each as its own error (a [*TreeError]).
func NewTree(files fs.FS, entries []Entry, limits Limits) (Tree, error) {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	if len(entries) > limits.MaxFiles {
		return Tree{}, &TreeError{entries[limits.MaxFiles].Path, ErrTooManyFiles, fmt.Sprintf("%d files, at most %d", len(entries), limits.MaxFiles)}
	}
	names := folder{seen: map[string]place{}}
	var total int64
	for _, e := range entries {
		if err := checkPath(e.Path, limits); err != nil {
			return Tree{}, err
		}
		if err := names.add(e.Path); err != nil {
			return Tree{}, err
		}
		if total += e.Size; e.Size < 0 || total > limits.MaxTotalBytes {
			return Tree{}, tooLarge(e.Path, limits)
		}
	}
	return Tree{Files: newListed(files, entries), Entries: entries}, nil
}

// ReadTree lists a file system and computes every file's git blob id by streaming it once. A ".git" at the root is
// left out, as git itself does. For a directory on disk pass os.Root's FS, which cannot be led outside by a link that
// appears while it is read.
func ReadTree(fsys fs.FS, limits Limits) (Tree, error) {
	w := walker{fsys: fsys, limits: limits}
	if err := w.walk("."); err != nil {
		return Tree{}, err
	}
	tree, err := NewTree(fsys, w.entries, limits)
	if err != nil {
		return Tree{}, err
	}
	h := sha1.New()
	for i := range tree.Entries {
		if err := hashEntry(fsys, &tree.Entries[i], h); err != nil {
			return Tree{}, err
		}
	}
	return tree, nil
}

type walker struct {
	fsys    fs.FS
	limits  Limits
	entries []Entry
	dirs    int
	bytes   int64
}

func (w *walker) walk(dir string) error {
	if w.dirs++; w.dirs > w.limits.MaxFiles {
		return &TreeError{dir, ErrTooManyFiles, fmt.Sprintf("more than %d directories", w.limits.MaxFiles)}
	}
	children, err := w.readDir(dir)
	if err != nil {
		return err
	}
	for _, child := range children {
		name := path.Join(dir, child.Name())
		if name == ".git" {
			continue
		}
		// Before the name is used: a file system call with a bad name would only answer "invalid".
		if err := checkPath(name, w.limits); err != nil {
			return err
		}
		if child.IsDir() {
			err = w.walk(name)
		} else {
			err = w.list(name, child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readDir reads one directory in portions, so that a directory with millions of names ends at the limit and not in
// memory.
func (w *walker) readDir(dir string) ([]fs.DirEntry, error) {
	f, err := w.fsys.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return fs.ReadDir(w.fsys, dir)
	}
	var children []fs.DirEntry
	for {
		batch, err := d.ReadDir(1000)
		children = append(children, batch...)
		if len(children)+len(w.entries) > 2*w.limits.MaxFiles {
			return nil, &TreeError{dir, ErrTooManyFiles, fmt.Sprintf("at most %d", w.limits.MaxFiles)}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("list files: %w", err)
		}
		if len(batch) == 0 {
			break
		}
	}
	slices.SortFunc(children, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return children, nil
}

func (w *walker) list(name string, child fs.DirEntry) error {
	if len(w.entries) == w.limits.MaxFiles {
		return &TreeError{name, ErrTooManyFiles, fmt.Sprintf("at most %d", w.limits.MaxFiles)}
	}
	info, err := child.Info()
	if err != nil {
		return fmt.Errorf("list files: %s: %w", name, err)
	}
	e := Entry{Path: name, Size: info.Size(), Executable: info.Mode()&0o100 != 0}
	switch info.Mode().Type() {
	case 0:
	case fs.ModeSymlink:
		e.Kind, e.Executable = Symlink, false
	default:
		return &TreeError{name, ErrIrregular, info.Mode().Type().String()}
	}
	if w.bytes += e.Size; w.bytes > w.limits.MaxTotalBytes {
		return tooLarge(name, w.limits)
	}
	w.entries = append(w.entries, e)
	return nil
}

func tooLarge(name string, limits Limits) error {
	return &TreeError{name, ErrTooLarge, fmt.Sprintf("all files together may have %d MiB", limits.MaxTotalBytes>>20)}
}

// hashEntry fills in the git blob id: SHA-1 over "blob SIZE", a zero byte and the content.
func hashEntry(fsys fs.FS, e *Entry, h hash.Hash) error {
	content := func() (io.ReadCloser, error) { return fsys.Open(e.Path) }
	if e.Kind == Symlink {
		target, err := fs.ReadLink(fsys, e.Path)
		if err != nil {
			return fmt.Errorf("read link %s: %w", e.Path, err)
		}
		e.Size = int64(len(target)) // some systems report another size for links
		content = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(target)), nil }
	}
	r, err := content()
	if err != nil {
		return fmt.Errorf("hash %s: %w", e.Path, err)
	}
	defer r.Close()
	h.Reset()
	io.WriteString(h, "blob "+strconv.FormatInt(e.Size, 10)+"\x00")
	n, err := io.Copy(h, io.LimitReader(r, e.Size+1))
	if err != nil {
		return fmt.Errorf("hash %s: %w", e.Path, err)
	}
	if n != e.Size {
		return &TreeError{e.Path, ErrChanged, fmt.Sprintf("listed with %d bytes", e.Size)}
	}
	e.Blob = hex.EncodeToString(h.Sum(nil))
	return nil
}

func checkPath(p string, limits Limits) error {
	switch {
	case !utf8.ValidString(p):
		return &TreeError{p, ErrNotUTF8, ""}
	case strings.ContainsFunc(p, unicode.IsControl):
		return &TreeError{p, ErrControl, ""}
	case !fs.ValidPath(p) || p == ".":
		return &TreeError{p, ErrEscape, ""}
	case len(p) > limits.MaxPathBytes:
		return &TreeError{p[:60] + "…", ErrTooLong, fmt.Sprintf("%d bytes, at most %d", len(p), limits.MaxPathBytes)}
	case strings.Count(p, "/") >= limits.MaxDepth:
		return &TreeError{p, ErrTooDeep, fmt.Sprintf("%d components, at most %d", strings.Count(p, "/")+1, limits.MaxDepth)}
	}
	return nil
}

// folder finds paths, and directories on the way to them, that a case-insensitive file system would merge.
type folder struct{ seen map[string]place }

type place struct {
	path string
	file bool
}

func (f folder) add(p string) error {
	for i := range len(p) + 1 {
		if i < len(p) && p[i] != '/' {
			continue
		}
		here := place{p[:i], i == len(p)}
		key := fold(here.path)
		before, ok := f.seen[key]
		switch {
		case !ok:
			f.seen[key] = here
		case before.path != here.path:
			return &TreeError{p, ErrTwin, fmt.Sprintf("%q and %q", before.path, here.path)}
		case before.file || here.file:
			return &TreeError{p, ErrDuplicate, ""}
		}
	}
	return nil
}

// fold maps names that some file system considers equal to one key: case is folded, composed and decomposed letters
// become the same.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return norm.NFC.String(cases.Fold().String(norm.NFC.String(s)))
		}
	}
	return strings.ToLower(s)
}
