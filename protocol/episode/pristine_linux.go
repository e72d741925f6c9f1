package episode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// entry is how one path was before the agent's first step.
type entry struct {
	mode     fs.FileMode // with type, setuid, setgid and sticky bits
	uid, gid int
	size     int64
	mtime    time.Time
	link     string // of a symbolic link
	copy     string // where a regular file's content is kept
}

// pristine is a copy of every place that the agent can write to, and the way back
// to it. It is used only while nobody else changes these places.
type pristine struct {
	roots   []string // directories and single files; none inside another
	entries map[string]entry
	order   []string // the paths of entries, parents before children
	store   string   // directory of the copies
}

// snapshot copies the roots into store.
func snapshot(ctx context.Context, roots []string, store string) (*pristine, error) {
	p := &pristine{roots: roots, entries: map[string]entry{}, store: store}
	if err := os.RemoveAll(store); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(store, 0o700); err != nil {
		return nil, err
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			e, ok, err := stat(name)
			if err != nil || !ok {
				return err
			}
			if e.mode.IsRegular() && e.size > 0 {
				e.copy = filepath.Join(store, strconv.Itoa(len(p.order)))
				if err := copyFile(name, e.copy); err != nil {
					return err
				}
			}
			p.entries[name] = e
			p.order = append(p.order, name)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", root, err)
		}
	}
	return p, nil
}

// stat describes a path without following it. What is neither file, directory nor
// link is not part of a task.
func stat(name string) (entry, bool, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return entry{}, false, err
	}
	e := entry{mode: info.Mode(), mtime: info.ModTime()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		e.uid, e.gid = int(s.Uid), int(s.Gid)
	}
	switch {
	case info.Mode().IsRegular():
		e.size = info.Size()
	case info.Mode()&fs.ModeSymlink != 0:
		e.link, err = os.Readlink(name)
	case !info.IsDir():
		return entry{}, false, nil
	}
	return e, true, err
}

func copyFile(from, to string) error {
	r, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}

// same reports whether a path is as it was, contents included: an agent can set a
// time back, but no byte.
func (p *pristine) same(name string) (bool, error) {
	was, known := p.entries[name]
	is, ok, err := stat(name)
	if err != nil || !ok || !known {
		return false, err
	}
	if is.mode != was.mode || is.uid != was.uid || is.gid != was.gid || is.size != was.size || is.link != was.link {
		return false, nil
	}
	if !is.mode.IsRegular() || is.size == 0 {
		return true, nil
	}
	return sameContent(name, was.copy)
}

func sameContent(a, b string) (bool, error) {
	x, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer y.Close()
	one, two := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(x, one)
		m, err2 := io.ReadFull(y, two)
		if !bytes.Equal(one[:n], two[:m]) {
			return false, nil
		}
		if err != nil || err2 != nil {
			for _, err := range []error{err, err2} {
				if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
					return false, err
				}
			}
			return true, nil
		}
	}
}

// changed lists, in order, the paths that match and are not as they were: added,
// removed or different.
func (p *pristine) changed(match func(name string) bool) ([]string, error) {
	found := map[string]bool{}
	for _, root := range p.roots {
		err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			if !match(name) {
				return nil
			}
			same, err := p.same(name)
			if !same {
				found[name] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for name := range p.entries {
		if match(name) {
			if _, err := os.Lstat(name); err != nil {
				found[name] = true
			}
		}
	}
	var all []string
	for name := range found {
		all = append(all, name)
	}
	slices.Sort(all)
	return all, nil
}

// restore puts every root back. Only what differs is written.
func (p *pristine) restore(ctx context.Context) error {
	for _, root := range p.roots {
		if err := p.removeAdded(ctx, root); err != nil {
			return fmt.Errorf("restore %s: %w", root, err)
		}
	}
	for _, name := range p.order {
		if err := errors.Join(ctx.Err(), p.put(name)); err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
	}
	// Writing inside a directory has moved its time: children first, then it.
	for _, name := range slices.Backward(p.order) {
		e := p.entries[name]
		if e.mode&fs.ModeSymlink == 0 {
			if err := os.Chtimes(name, e.mtime, e.mtime); err != nil {
				return fmt.Errorf("restore %s: %w", name, err)
			}
		}
	}
	return nil
}

// removeAdded removes what was not there, and what has become another kind.
func (p *pristine) removeAdded(ctx context.Context, root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
		was, known := p.entries[name]
		if known && d.Type() == was.mode.Type() {
			return nil
		}
		if err := os.RemoveAll(name); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// put makes one path what it was. Its parents are right already.
func (p *pristine) put(name string) error {
	if same, err := p.same(name); same {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e := p.entries[name]
	if e.mode.IsDir() {
		if err := os.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		// Changing the owner clears setuid bits, so the mode comes last.
		return errors.Join(own(name, e), os.Chmod(name, e.mode))
	}
	// The new one takes the place of the old in one step. Some file systems of
	// containers have been seen to refuse a name right after its removal.
	next := filepath.Join(filepath.Dir(name), ".arena-restored")
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	if err := p.write(next, e); err != nil {
		return err
	}
	return os.Rename(next, name)
}

// write makes a file or link at a name that is free.
func (p *pristine) write(name string, e entry) error {
	switch {
	case e.mode&fs.ModeSymlink != 0:
		return errors.Join(os.Symlink(e.link, name), own(name, e))
	case e.copy == "":
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	default:
		if err := copyFile(e.copy, name); err != nil {
			return err
		}
	}
	return errors.Join(own(name, e), os.Chmod(name, e.mode))
}

// own gives a path its owner back; nothing is asked of a user who may not when
// there is nothing to change.
func own(name string, e entry) error {
	if is, _, err := stat(name); err == nil && is.uid == e.uid && is.gid == e.gid {
		return nil
	}
	return os.Lchown(name, e.uid, e.gid)
}

// writable lists the places below / that uid may write to, beside those in
// already: whole directories, and single files in directories that it may not.
// skip names what is not looked at.
func writable(ctx context.Context, root string, uid int, already, skip []string) ([]string, error) {
	roots := slices.Clone(already)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if slices.Contains(skip, name) || slices.Contains(already, name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		e, ok, err := stat(name)
		if err != nil || !ok || e.mode&fs.ModeSymlink != 0 {
			return err
		}
		perm := e.mode.Perm()
		may := perm&0o002 != 0 || perm&0o020 != 0 && e.gid == uid || e.uid == uid
		switch {
		case !may:
			return nil
		case !e.mode.IsDir():
			roots = append(roots, name)
			return nil
		case holds(name, skip):
			return fmt.Errorf("%s can be written to by uid %d, and the server's own files are below it", name, uid)
		}
		roots = append(roots, name)
		return fs.SkipDir
	})
	if err != nil {
		return nil, err
	}
	// A root inside another one would be restored twice.
	slices.SortFunc(roots, func(a, b string) int { return cmp.Compare(a, b) })
	var outer []string
	for _, r := range roots {
		if !slices.ContainsFunc(outer, func(o string) bool { return r == o || strings.HasPrefix(r, o+"/") }) {
			outer = append(outer, r)
		}
	}
	return outer, nil
}

func holds(dir string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, strings.TrimSuffix(dir, "/")+"/") })
}
