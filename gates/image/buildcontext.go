package image

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// maxIgnorePatterns bounds .dockerignore. More patterns than that are refused:
// nothing is then left out.
const maxIgnorePatterns = 1000

// contextLoader reads the build context into a tree.
type contextLoader struct {
	fsys    fs.FS
	limits  Limits
	tree    *tree
	ignored map[string]bool // what .dockerignore leaves out: files, and whole directories
	matcher *patternmatcher.PatternMatcher
	count   int
	issues  []Issue
	full    bool
}

// loadContext lists the files of a build context that .dockerignore lets in.
func loadContext(fsys fs.FS, name string, limits Limits) *contextLoader {
	l := &contextLoader{fsys: fsys, limits: limits, tree: newTree(), ignored: map[string]bool{}}
	if fsys == nil {
		return l
	}
	l.readIgnore(name)
	l.walk(".", 0, patternmatcher.MatchInfo{})
	return l
}

func (l *contextLoader) issue(code Code, format string, args ...any) {
	l.issues = append(l.issues, Issue{Code: code, Message: fmt.Sprintf(format, args...)})
}

// readIgnore loads NAME.dockerignore or else .dockerignore.
func (l *contextLoader) readIgnore(name string) {
	for _, file := range []string{name + ".dockerignore", ".dockerignore"} {
		b, err := readFile(l.fsys, file, l.limits.FileBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			l.issue(CodeRead, "%s: %v; nothing is left out of the build context", file, err)
			return
		}
		patterns, err := ignorefile.ReadAll(bytes.NewReader(b))
		if err == nil && len(patterns) > maxIgnorePatterns {
			err = fmt.Errorf("more than %d patterns", maxIgnorePatterns)
		}
		if err == nil {
			l.matcher, err = patternmatcher.New(patterns)
		}
		if err == nil && l.matcher != nil {
			// The patterns are compiled on first use; a bad one shows only then.
			_, _, err = l.matcher.MatchesUsingParentResults("x", patternmatcher.MatchInfo{})
		}
		if err != nil {
			l.matcher = nil
			l.issue(CodeUnparsed, "%s: %v; nothing is left out of the build context", file, err)
		}
		return
	}
}

// walk lists one directory. Symbolic links are listed, not followed.
func (l *contextLoader) walk(dir string, depth int, parent patternmatcher.MatchInfo) {
	if l.full {
		return
	}
	entries, err := fs.ReadDir(l.fsys, dir)
	if err != nil {
		l.issue(CodeRead, "the build context cannot be listed: %v", err)
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		info, skip := l.skips(p, parent)
		if e.IsDir() {
			l.enter(p, depth, info, skip)
			continue
		}
		if skip {
			l.ignored["/"+p] = true
			continue
		}
		if l.count++; l.count > l.limits.Files {
			l.full = true
			l.issue(CodeLimit, "the build context has more than %d files; the rest is not looked at", l.limits.Files)
			return
		}
		l.add(p, e)
	}
}

func (l *contextLoader) enter(dir string, depth int, info patternmatcher.MatchInfo, skip bool) {
	if skip {
		l.ignored["/"+dir] = true
		if !l.matcher.Exclusions() {
			return
		}
	} else {
		l.tree.mkdir("/" + dir)
	}
	if depth+1 > l.limits.Depth {
		l.issue(CodeLimit, "%s: directories nest deeper than %d; what is below is not looked at", dir, l.limits.Depth)
		return
	}
	l.walk(dir, depth+1, info)
}

// skips says whether .dockerignore leaves a path out.
func (l *contextLoader) skips(p string, parent patternmatcher.MatchInfo) (patternmatcher.MatchInfo, bool) {
	if l.matcher == nil {
		return patternmatcher.MatchInfo{}, false
	}
	matched, info, err := l.matcher.MatchesUsingParentResults(p, parent)
	return info, err == nil && matched
}

func (l *contextLoader) add(p string, e fs.DirEntry) {
	f := &Placed{Source: p, Size: -1}
	l.tree.mkdir(path.Dir("/" + p))
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		f.Link = "?"
		if target, err := fs.ReadLink(l.fsys, p); err == nil {
			f.Link = target
		}
	case e.Type().IsRegular():
		if info, err := e.Info(); err == nil {
			f.Size = info.Size()
		}
		fsys, limit := l.fsys, l.limits.FileBytes
		f.content = func() ([]byte, error) { return readFile(fsys, p, limit) }
	default:
		return // devices and sockets are not sent to a build
	}
	f.Target = "/" + p
	l.tree.files["/"+p] = f
}

// readFile reads a file of at most limit bytes.
func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: %w", name, ErrNoContent)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes: %w", name, limit, ErrTooLarge)
	}
	return b, nil
}
