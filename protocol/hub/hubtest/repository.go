package hubtest

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/posttrainarena/arena/gates/task"
)

// File is a file of a commit.
type File struct {
	Path string
	Text string
	Mode string // git's; empty for 100644. 160000 is a submodule, without a text
	LFS  bool   // the content is outside git, which holds a pointer
	Xet  bool   // the content is in Xet, which looks like LFS besides

	ExportIgnore bool // .gitattributes keep it out of tarballs
	ExportSubst  bool // .gitattributes have tarballs change its text
}

func (f File) mode() string { return cmp.Or(f.Mode, "100644") }

// outside reports whether git holds only a pointer to the content.
func (f File) outside() bool { return f.LFS || f.Xet }

// SHA256 is the hash of the content, by which LFS names it.
func (f File) SHA256() string {
	sum := sha256.Sum256([]byte(f.Text))
	return hex.EncodeToString(sum[:])
}

// object is what git holds: the text, or the pointer to it.
func (f File) object() string {
	if !f.outside() {
		return f.Text
	}
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", f.SHA256(), len(f.Text))
}

// Blob is the git id of the object: for a submodule a commit that exists nowhere.
func (f File) Blob() string {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(f.object()), f.object()))
	return hex.EncodeToString(sum[:])
}

// Repository is a repository that a fake serves. Change it through its methods
// once requests come in; the fields are set before.
type Repository struct {
	Name     string // OWNER/NAME
	Private  bool
	Gated    string // "auto" or "manual"; empty when it is not
	Disabled bool
	// TakenDown is the reason for which a court or an owner of rights had it blocked.
	TakenDown string

	mu      sync.Mutex
	refs    map[string]string // branches and tags, and refs/pr/N
	commits map[string][]File // sorted by path
}

// Commit adds a commit with exactly these files, makes refs point to it, and
// returns its id.
func (r *Repository) Commit(files []File, refs ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	id := commitID(r.Name, len(r.commits), files)
	if r.commits == nil {
		r.commits, r.refs = map[string][]File{}, map[string]string{}
	}
	r.commits[id] = files
	for _, ref := range refs {
		r.refs[ref] = id
	}
	return id
}

func commitID(name string, n int, files []File) string {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\n", name, n)
	for _, f := range files {
		fmt.Fprintf(h, "%s %s %s\n", f.mode(), f.Blob(), f.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// At returns the files at a branch, tag or commit, and the commit.
func (r *Repository) At(rev string) (files []File, commit string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	commit = rev
	if id, named := r.refs[rev]; named {
		commit = id
	}
	files, ok = r.commits[commit]
	return files, commit, ok
}

// Refs lists the branches, tags and other refs with the commits they point to.
func (r *Repository) Refs() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.refs)
}

// whole completes the beginning of a commit id, as git does.
func (r *Repository) whole(rev string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.commits {
		if len(rev) >= 7 && strings.HasPrefix(id, rev) {
			return id
		}
	}
	return rev
}

// file finds a file of a commit.
func (r *Repository) file(rev, path string) (f File, commit string, ok bool) {
	files, commit, ok := r.At(rev)
	i, found := slices.BinarySearchFunc(files, path, func(f File, path string) int { return cmp.Compare(f.Path, path) })
	if !ok || !found || files[i].Mode == "160000" {
		return File{}, commit, false
	}
	return files[i], commit, true
}

// blob finds a file of any commit by its git id.
func (r *Repository) blob(id string) (File, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, files := range r.commits {
		for _, f := range files {
			if f.Mode != "160000" && f.Blob() == id {
				return f, true
			}
		}
	}
	return File{}, false
}

// empty reports whether there is no commit yet.
func (r *Repository) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.commits) == 0
}

// Entries is a listing of files as a source must show it: the size of the real
// content and git's id. Without modes, executables and links look like files.
func Entries(files []File, modes bool) []task.Entry {
	var all []task.Entry
	for _, f := range files {
		e := task.Entry{Path: f.Path, Size: int64(len(f.Text)), Blob: f.Blob()}
		switch {
		case f.Mode == "160000":
			e.Kind, e.Size = task.Submodule, 0
		case f.Mode == "120000" && modes:
			e.Kind = task.Symlink
		case f.Mode == "100755" && modes:
			e.Executable = true
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b task.Entry) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
