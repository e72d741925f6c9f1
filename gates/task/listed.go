package task

import (
	"io/fs"
	"path"
)

// listed is a file system that shows only what a listing says: regular files and the directories above them. A link
// in the underlying system can therefore not lead a reader anywhere.
type listed struct {
	base fs.FS
	open map[string]bool
}

func newListed(base fs.FS, entries []Entry) fs.FS {
	open := map[string]bool{".": true}
	for _, e := range entries {
		if e.Kind == File {
			open[e.Path] = true
		}
		for dir := path.Dir(e.Path); !open[dir]; dir = path.Dir(dir) {
			open[dir] = true
		}
	}
	return listed{base, open}
}

// Open opens a listed regular file or a directory above one.
func (l listed) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if !l.open[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return l.base.Open(name)
}
