package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// treeFS shows a stored tree as a file system. It knows every entry; bodies are
// read from the database piece by piece when somebody reads them. Links and
// submodules are entries of their own kind with an empty body: nothing is ever
// followed.
type treeFS struct {
	store   *Store
	entries map[string]*treeEntry // by path; "." is the root
}

var (
	_ fs.ReadDirFS  = (*treeFS)(nil)
	_ fs.ReadFileFS = (*treeFS)(nil)
	_ fs.StatFS     = (*treeFS)(nil)
)

// treeEntry is a file or a directory: its own directory entry and info.
type treeEntry struct {
	name     string
	mode     fs.FileMode
	size     int64
	blob     int64
	children []fs.DirEntry // of a directory, sorted by name
}

// newTreeFS makes a file system of entries that checkTree has accepted.
func newTreeFS(s *Store, files []treeFile) *treeFS {
	t := &treeFS{store: s, entries: map[string]*treeEntry{".": {name: ".", mode: fs.ModeDir | 0o555}}}
	for _, f := range files {
		t.add(f.Path, &treeEntry{name: path.Base(f.Path), mode: fileMode(f.Kind), size: f.Size, blob: f.blob})
	}
	for _, e := range t.entries {
		slices.SortFunc(e.children, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return t
}

// add adds an entry and the directories that lead to it.
func (t *treeFS) add(at string, e *treeEntry) {
	t.entries[at] = e
	for {
		dir := path.Dir(at)
		parent, known := t.entries[dir]
		if !known {
			parent = &treeEntry{name: path.Base(dir), mode: fs.ModeDir | 0o555}
			t.entries[dir] = parent
		}
		parent.children = append(parent.children, e)
		if known {
			return
		}
		at, e = dir, parent
	}
}

func fileMode(k protocol.FileKind) fs.FileMode {
	switch k {
	case protocol.FileExecutable:
		return 0o555
	case protocol.FileSymlink:
		return fs.ModeSymlink | 0o777
	case protocol.FileSubmodule:
		return fs.ModeIrregular
	default:
		return 0o444
	}
}

func (t *treeFS) find(op, name string) (*treeEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e, ok := t.entries[name]
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return e, nil
}

// Open implements fs.FS. Files can also be sought and read at an offset.
func (t *treeFS) Open(name string) (fs.File, error) {
	e, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	if e.IsDir() {
		return &openDir{entry: e, path: name, rest: e.children}, nil
	}
	return t.openFile(e, name), nil
}

// Stat implements fs.StatFS.
func (t *treeFS) Stat(name string) (fs.FileInfo, error) {
	e, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// ReadDir implements fs.ReadDirFS.
func (t *treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !e.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("is not a directory")}
	}
	return slices.Clone(e.children), nil
}

// ReadFile implements fs.ReadFileFS.
func (t *treeFS) ReadFile(name string) ([]byte, error) {
	e, err := t.find("read", name)
	if err != nil {
		return nil, err
	}
	if e.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDir}
	}
	b := make([]byte, e.bodySize())
	if _, err := t.openFile(e, name).ReadAt(b, 0); err != nil {
		return nil, err
	}
	return b, nil
}

var errIsDir = errors.New("is a directory")

// A treeEntry is its own fs.DirEntry and fs.FileInfo.

func (e *treeEntry) Name() string               { return e.name }
func (e *treeEntry) IsDir() bool                { return e.mode.IsDir() }
func (e *treeEntry) Type() fs.FileMode          { return e.mode.Type() }
func (e *treeEntry) Info() (fs.FileInfo, error) { return e, nil }
func (e *treeEntry) Size() int64                { return e.size }
func (e *treeEntry) Mode() fs.FileMode          { return e.mode }
func (e *treeEntry) ModTime() time.Time         { return time.Time{} } // content has no time
func (e *treeEntry) Sys() any                   { return nil }

// bodySize is how many bytes reading the entry yields.
func (e *treeEntry) bodySize() int64 {
	if e.blob == 0 {
		return 0
	}
	return e.size
}

// openDir is an open directory.
type openDir struct {
	entry *treeEntry
	path  string
	rest  []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.entry, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errIsDir}
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

// openFile is an open file. It holds the piece of its body that was read last.
type openFile struct {
	store  *Store
	entry  *treeEntry
	path   string
	offset int64 // of Read

	mu    sync.Mutex // ReadAt may be called at the same time
	piece int64      // which piece body is; -1 for none
	body  []byte
}

func (t *treeFS) openFile(e *treeEntry, name string) *openFile {
	return &openFile{store: t.store, entry: e, path: name, piece: -1}
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *openFile) Close() error               { return nil }

// Read implements io.Reader.
func (f *openFile) Read(b []byte) (int, error) {
	n, err := f.readSome(b, f.offset)
	f.offset += int64(n)
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *openFile) ReadAt(b []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrInvalid}
	}
	for done := 0; ; {
		if done == len(b) {
			return done, nil
		}
		n, err := f.readSome(b[done:], offset+int64(done))
		if done += n; err != nil {
			return done, err
		}
	}
}

// readSome reads at an offset, up to the end of the piece that it is in.
func (f *openFile) readSome(b []byte, offset int64) (int, error) {
	if offset >= f.entry.bodySize() {
		return 0, io.EOF
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if want := offset / blobPiece; want != f.piece {
		// A file that is open has no request of its own whose end could stop it;
		// one piece is a short read of a local file.
		body, err := f.store.readPiece(context.Background(), f.entry.blob, want)
		if err != nil {
			return 0, &fs.PathError{Op: "read", Path: f.path, Err: err}
		}
		f.piece, f.body = want, body
	}
	start := offset % blobPiece
	if start >= int64(len(f.body)) {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: io.ErrUnexpectedEOF}
	}
	return copy(b, f.body[start:]), nil
}

// Seek implements io.Seeker.
func (f *openFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.entry.bodySize()
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return 0, &fs.PathError{Op: "seek", Path: f.path, Err: fs.ErrInvalid}
	}
	f.offset = offset
	return offset, nil
}
