package artifacts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
)

// The bounds of one read.
const (
	maxEntries = 20_000   // entries of one directory
	maxJSON    = 4 << 20  // bytes of a result, timing or reward file
	maxReport  = 16 << 20 // bytes of a report
)

// Problem is something about the tree that is not as it should be.
type Problem struct {
	Path   string `json:"path"`   // where; empty when the place is sealed
	Detail string `json:"detail"` // what is wrong and what follows from it
}

// errTooLarge is how read refuses a file beyond its limit.
var errTooLarge = errors.New("the file is too large")

// read returns the content of a regular file. A missing one is fs.ErrNotExist.
func read(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := open(fsys, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path.Base(name), err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: it has more than %d bytes", errTooLarge, limit)
	}
	return data, nil
}

// open opens a file or directory without following a link: every name on the way
// must be a directory, and the last one that or a regular file.
func open(fsys fs.FS, name string) (fs.File, error) {
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := fs.Lstat(fsys, name[:i])
		if err != nil {
			return nil, err
		}
		if last := i == len(name); !info.IsDir() && !(last && info.Mode().IsRegular()) {
			return nil, fmt.Errorf("it is neither a file nor a directory: %w", fs.ErrInvalid)
		}
	}
	return fsys.Open(name)
}

// directories returns the names of the directories in dir, sorted; links are not
// among them. A missing dir has none. more is true when there are too many to
// look at.
func directories(fsys fs.FS, dir string) (names []string, more bool, err error) {
	f, err := open(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, false, fmt.Errorf("it is not a directory: %w", fs.ErrInvalid)
	}
	entries, err := d.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("list it: %w", err)
	}
	for _, e := range entries[:min(len(entries), maxEntries)] {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, len(entries) > maxEntries, nil
}
