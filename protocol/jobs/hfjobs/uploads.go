package hfjobs

import (
	"cmp"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol/hub/blobcache"
)

// uploads is a listing of the runs dataset as a file system with directories. The
// bodies come from bodies, which knows files alone.
type uploads struct {
	bodies  fs.FS
	entries map[string]*upload // by path; "." is the root
}

// upload is a file or a directory, its info and its entry.
type upload struct {
	name     string
	size     int64
	dir      bool
	children []fs.DirEntry // of a directory, sorted
}

func newUploads(keys map[string]blobcache.Key, bodies fs.FS) *uploads {
	u := &uploads{bodies: bodies, entries: map[string]*upload{".": {name: ".", dir: true}}}
	for at, k := range keys {
		if u.fits(at) {
			u.add(at, &upload{name: path.Base(at), size: k.Size})
		}
	}
	for _, e := range u.entries {
		slices.SortFunc(e.children, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	}
	return u
}

// fits reports whether a file can stand beside what is there: git has no file and
// directory of one name, but a listing from outside may.
func (u *uploads) fits(at string) bool {
	if u.entries[at] != nil {
		return false
	}
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if e := u.entries[dir]; e != nil && !e.dir {
			return false
		}
	}
	return true
}

func (u *uploads) add(at string, e *upload) {
	u.entries[at] = e
	for at != "." {
		at = path.Dir(at)
		parent, known := u.entries[at]
		if !known {
			parent = &upload{name: path.Base(at), dir: true}
			u.entries[at] = parent
		}
		parent.children = append(parent.children, e)
		if known {
			return
		}
		e = parent
	}
}

// Open implements fs.FS.
func (u *uploads) Open(name string) (fs.File, error) {
	e := u.entries[name]
	if !fs.ValidPath(name) || e == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if e.dir {
		return &openDir{upload: e}, nil
	}
	f, err := u.bodies.Open(name)
	if err != nil {
		return nil, err
	}
	return &openFile{File: f, upload: e}, nil
}

// Name and the others implement fs.FileInfo and fs.DirEntry.
func (e *upload) Name() string { return e.name }

// Size is that of the content, in bytes.
func (e *upload) Size() int64 { return e.size }

// Mode says what it is; all of it is read-only.
func (e *upload) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// ModTime is not known.
func (*upload) ModTime() time.Time { return time.Time{} }

// IsDir reports whether it is a directory.
func (e *upload) IsDir() bool { return e.dir }

// Sys has nothing to say.
func (*upload) Sys() any { return nil }

// Type is the kind within the mode.
func (e *upload) Type() fs.FileMode { return e.Mode().Type() }

// Info is the entry itself.
func (e *upload) Info() (fs.FileInfo, error) { return e, nil }

// openFile is an open body with the info of its entry.
type openFile struct {
	fs.File
	*upload
}

// Stat is the entry.
func (f *openFile) Stat() (fs.FileInfo, error) { return f.upload, nil }

// openDir is an open directory.
type openDir struct {
	*upload
	at int
}

// Stat is the entry.
func (d *openDir) Stat() (fs.FileInfo, error) { return d.upload, nil }

// Read refuses: a directory has no content.
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fs.ErrInvalid}
}

// Close does nothing.
func (*openDir) Close() error { return nil }

// ReadDir lists the next n entries, or all that are left.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.children[d.at:]
	if n > 0 && len(rest) == 0 {
		return nil, io.EOF
	}
	if n > 0 {
		rest = rest[:min(n, len(rest))]
	}
	d.at += len(rest)
	return slices.Clone(rest), nil
}
