package image

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// tree is a file system: a build context or a stage.
type tree struct {
	files map[string]*Placed // by absolute path
	dirs  map[string]bool    // absolute paths, with all their parents
	// open says that there may be more than is known: the base image's own files.
	open bool
}

func newTree() *tree {
	return &tree{files: map[string]*Placed{}, dirs: map[string]bool{"/": true}}
}

// clone returns a tree that can change without changing t.
func (t *tree) clone() *tree {
	c := &tree{files: make(map[string]*Placed, len(t.files)), dirs: maps.Clone(t.dirs), open: t.open}
	for p, f := range t.files {
		copied := *f
		c.files[p] = &copied
	}
	return c
}

// mkdir creates a directory and its parents.
func (t *tree) mkdir(p string) {
	for p != "/" && p != "." && p != "" && !t.dirs[p] {
		t.dirs[p] = true
		p = path.Dir(p)
	}
}

// isDir says whether p is a directory, as far as that is known.
func (t *tree) isDir(p string) bool {
	return t.dirs[p] || t.open && isUsualDir(p) && t.files[p] == nil
}

// isUsualDir lists directories that practically every base image has.
func isUsualDir(p string) bool {
	switch p {
	case "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var",
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/share", "/usr/share", "/usr/src",
		"/usr/include", "/var/lib", "/var/log", "/var/tmp", "/var/cache", "/etc/profile.d":
		return true
	}
	return false
}

// under lists the files below a directory, sorted.
func (t *tree) under(dir string) []string {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	var out []string
	for p := range t.files {
		if strings.HasPrefix(p, prefix) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// glob lists the files and directories that match a pattern, sorted. A star
// does not match a slash.
func (t *tree) glob(pattern string) []string {
	var out []string
	match := func(p string) {
		if ok, err := path.Match(pattern, p); err == nil && ok && p != "/" {
			out = append(out, p)
		}
	}
	for p := range t.files {
		match(p)
	}
	for p := range t.dirs {
		match(p)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hasWildcard says whether a source path is a pattern.
func hasWildcard(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?', '[':
			return true
		case '\\':
			i++
		}
	}
	return false
}

// removeDirs forgets a directory and all below it.
func (t *tree) removeDirs(dir string) {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	for d := range t.dirs {
		if d == dir || strings.HasPrefix(d, prefix) {
			delete(t.dirs, d)
		}
	}
	t.dirs["/"] = true
}
