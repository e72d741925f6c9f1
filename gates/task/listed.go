package task

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

// listed is a file system that shows only what a listing says: it opens the regular files, whose content is that of
// the underlying system, and lists the directories above everything in it. A link in the underlying system can
// therefore not lead a reader anywhere, and one that only opens files, such as a code host's, is enough.
type listed struct {
	base  fs.FS
	nodes map[string]*node // by path; "." is the root
}

// node is a file, a link, a submodule or a directory of a listing: its own fs.DirEntry and fs.FileInfo.
type node struct {
	name     string
	mode     fs.FileMode
	size     int64
	children []fs.DirEntry // of a directory, sorted by name
}

func newListed(base fs.FS, entries []Entry) fs.FS {
	l := listed{base, map[string]*node{".": {name: ".", mode: fs.ModeDir | 0o555}}}
	for _, e := range entries {
		l.add(e.Path, &node{name: path.Base(e.Path), mode: modeOf(e), size: e.Size})
	}
	for _, n := range l.nodes {
		slices.SortFunc(n.children, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	}
	return l
}

func modeOf(e Entry) fs.FileMode {
	switch {
	case e.Kind == Symlink:
		return fs.ModeSymlink | 0o777
	case e.Kind == Submodule:
		return fs.ModeIrregular
	case e.Executable:
		return 0o555
	}
	return 0o444
}

// add puts a node at a path, below the directories that lead to it.
func (l listed) add(at string, n *node) {
	l.nodes[at] = n
	dir := path.Dir(at)
	parent, known := l.nodes[dir]
	if !known {
		parent = &node{name: path.Base(dir), mode: fs.ModeDir | 0o555}
		l.add(dir, parent)
	}
	parent.children = append(parent.children, n)
}

// Open opens a listed regular file or a directory above anything listed.
func (l listed) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	switch n := l.nodes[name]; {
	case n != nil && n.IsDir():
		return &openDir{node: n, rest: n.children}, nil
	case n != nil && n.mode.IsRegular():
		return l.base.Open(name)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (n *node) Name() string               { return n.name }
func (n *node) IsDir() bool                { return n.mode.IsDir() }
func (n *node) Type() fs.FileMode          { return n.mode.Type() }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }
func (n *node) Size() int64                { return n.size }
func (n *node) Mode() fs.FileMode          { return n.mode }
func (n *node) ModTime() time.Time         { return time.Time{} } // content has no time
func (n *node) Sys() any                   { return nil }

// openDir is a directory that is being listed.
type openDir struct {
	node *node
	rest []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.node, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.node.name, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.rest) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.rest) {
		n = len(d.rest)
	}
	out := slices.Clone(d.rest[:n])
	d.rest = d.rest[n:]
	return out, nil
}
