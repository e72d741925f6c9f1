package task

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/gates/report"
)

// nameRule is the form of a task's directory name (reference 1.7).
var nameRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Collection is a directory with submission.yaml and its packages, sorted by name.
type Collection struct {
	Dir        string // slash path in the tree; "." for the root
	PackageDir string // the directory whose children are the packages, or which is the only package
	Submission Submission
	Packages   []Package
}

// Locate is the path of a finding in the tree, for encoders that link to files (it is a report.Locator).
func (c Collection) Locate(f report.Finding) string {
	if f.Task == "" {
		return path.Join(c.Dir, f.Path)
	}
	for i := range c.Packages {
		if c.Packages[i].Name == f.Task {
			return path.Join(c.Packages[i].Dir, f.Path)
		}
	}
	return path.Join(c.PackageDir, f.Task, f.Path)
}

// ReadCollection reads a collection under the registry's contract (PROTOCOL §5). entryPath is the directory that
// holds submission.yaml and envs/, "" for the root. The collection is valid when no problem is an error; it is filled
// as far as possible in any case.
func ReadCollection(tree Tree, entryPath string, limits Limits) (Collection, []Problem) {
	r := reader{tree: tree, limits: limits, strict: true}
	dir := cleanDir(entryPath)
	if !fs.ValidPath(dir) || len(under(tree.Entries, dir)) == 0 {
		r.fail(Problem{Code: "entry-path", Field: "entry_path", Message: fmt.Sprintf("there is no directory %q", short(entryPath)), Fix: "give the directory that holds submission.yaml and envs/, or nothing for the repository's root"})
		return Collection{Dir: dir}, r.list
	}
	col := Collection{Dir: dir, PackageDir: path.Join(dir, "envs"), Submission: r.submission(dir)}
	col.Packages = r.packages(col.PackageDir)
	if len(col.Packages) == 0 {
		r.fail(Problem{Code: "no-tasks", Path: "envs", Message: "there is no task package under envs/", Fix: fmt.Sprintf("put 1 to %d packages there, each a directory with task.md", limits.MaxTasks)})
	}
	r.formats(col.Packages)
	return col, r.list
}

// ReadPackages reads what an author has at hand: a collection, a directory of packages (or one with a tasks/
// directory of them), or a single package, in any of the three formats. Problems have the same meaning as for
// ReadCollection, but Harbor's format is welcome and submission.yaml may be missing.
func ReadPackages(tree Tree, dir string, limits Limits) (Collection, []Problem) {
	r := reader{tree: tree, limits: limits, lenient: true}
	dir = cleanDir(dir)
	if !fs.ValidPath(dir) || len(under(tree.Entries, dir)) == 0 {
		r.fail(Problem{Code: "entry-path", Message: fmt.Sprintf("there is no directory %q", short(dir)), Fix: "give a collection, a directory of task packages, or one package"})
		return Collection{Dir: dir}, r.list
	}
	col := Collection{Dir: dir, PackageDir: dir}
	if r.has(dir, "submission.yaml") {
		col.Submission = r.submission(dir)
	}
	if r.has(dir, "task.md") || r.has(dir, "task.toml") {
		pkg, problems := readPackage(tree, dir, r.nameOf(dir), under(tree.Entries, dir), limits)
		r.list = append(r.list, problems...)
		col.Packages = []Package{pkg}
		return col, r.list
	}
	for _, sub := range []string{"envs", ".", "tasks"} {
		place := path.Join(dir, sub)
		before := len(r.list)
		r.strict = sub == "envs"
		if col.Packages = r.packages(place); len(col.Packages) > 0 {
			col.PackageDir = place
			return col, r.list
		}
		if !r.strict {
			r.list = r.list[:before] // this was not the place; what is missing from it means nothing
		}
	}
	r.fail(Problem{Code: "no-tasks", Message: "no task package was found here", Fix: "give a directory with task.md (or Harbor's task.toml), or one that holds such directories"})
	return col, r.list
}

// reader reads the packages of one tree.
type reader struct {
	problems
	tree    Tree
	limits  Limits
	lenient bool // take Harbor's format
	strict  bool // every directory must be a package; otherwise one that is not is worth a warning
}

func (r *reader) has(dir, name string) bool {
	_, ok := slices.BinarySearchFunc(r.tree.Entries, path.Join(dir, name), func(e Entry, p string) int { return cmp.Compare(e.Path, p) })
	return ok
}

// nameOf is the name of a package that is not found as a child of another directory.
func (r *reader) nameOf(dir string) string {
	switch {
	case dir != ".":
		return path.Base(dir)
	case r.tree.Name != "":
		return r.tree.Name
	default:
		return "task"
	}
}

func (r *reader) submission(dir string) Submission {
	name := path.Join(dir, "submission.yaml")
	var entries []Entry
	for _, e := range under(r.tree.Entries, dir) {
		if e.Path == name {
			entries = append(entries, e)
		}
	}
	c := checker{problems{}, newPackage(r.tree, dir, "", entries, r.limits), r.limits}
	s := c.readSubmission()
	r.list = append(r.list, c.list...)
	return s
}

// packages reads the children of a directory.
func (r *reader) packages(dir string) []Package {
	var pkgs []Package
	total := 0
	for _, child := range children(r.tree.Entries, dir) {
		if !r.isPackage(dir, child) {
			continue
		}
		if total++; total > r.limits.MaxTasks {
			continue
		}
		pkg, problems := readPackage(r.tree, path.Join(dir, child.name), child.name, child.entries, r.limits)
		if r.lenient || pkg.Format != Harbor {
			r.list = append(r.list, problems...)
		}
		pkgs = append(pkgs, pkg)
	}
	if total > r.limits.MaxTasks {
		r.fail(Problem{Code: "too-many-tasks", Path: "envs", Message: fmt.Sprintf("there are %d task packages; at most %d are accepted", total, r.limits.MaxTasks), Fix: "split the collection"})
	}
	return pkgs
}

// isPackage decides whether a child of a directory of packages is one. Files, and names that begin with _ or ., are
// passed over in silence; a directory without task.md is an error, because upstream ignores it and so hides a typo.
func (r *reader) isPackage(dir string, child child) bool {
	if strings.HasPrefix(child.name, "_") || strings.HasPrefix(child.name, ".") || child.kind == File && !child.isDir {
		return false
	}
	place := path.Join(dir, child.name)
	if child.isDir && (r.has(place, "task.md") || r.has(place, "task.toml")) {
		return true
	}
	p := Problem{Code: "task-md-missing", Message: "the directory has no task.md", Fix: "add task.md, or begin the directory's name with _ if it is not a task", Path: "task.md"}
	if !child.isDir {
		p = notRegular("")
	}
	severity := report.Warning
	if r.strict {
		severity = report.Error
	}
	found := problems{task: child.name}
	found.add(severity, p)
	r.list = append(r.list, found.list...)
	return false
}

// formats says what concerns the collection's formats as a whole.
func (r *reader) formats(pkgs []Package) {
	var harbor []string
	postTrain := false
	for _, p := range pkgs {
		if p.Format == Harbor {
			harbor = append(harbor, p.Name)
		}
		postTrain = postTrain || p.Format == PostTrain
	}
	if n := len(harbor); n > 0 {
		names := strings.Join(harbor[:min(n, 5)], ", ")
		if n > 5 {
			names += ", …"
		}
		r.fail(Problem{
			Code: "harbor-format", Path: "envs", Message: fmt.Sprintf("%d of %d packages are in Harbor's format (task.toml and no task.md), which the registry does not take: %s", n, len(pkgs), names),
			Fix: "convert them with: arena import harbor DIR --out DIR",
		})
	}
	if postTrain {
		r.warn(Problem{
			Code: "older-generation", Path: "envs", Message: "PostTrain packages need a BenchFlow release older than 0.6.8, which the arena's pipeline pins; newer releases read only the native format",
			Fix: "nothing for the arena; to use the packages elsewhere, move to schema_version, task and sandbox",
		})
	}
}

// child is one name directly under a directory.
type child struct {
	name    string
	isDir   bool
	kind    Kind
	entries []Entry
}

func children(entries []Entry, dir string) []child {
	entries = under(entries, dir)
	skip := 0
	if dir != "." {
		skip = len(dir) + 1
	}
	var list []child
	for i, e := range entries {
		name, _, isDir := strings.Cut(e.Path[skip:], "/")
		if n := len(list); n > 0 && isDir && list[n-1].isDir && list[n-1].name == name {
			list[n-1].entries = entries[i-len(list[n-1].entries) : i+1]
			continue
		}
		list = append(list, child{name, isDir, e.Kind, entries[i : i+1]})
	}
	slices.SortFunc(list, func(a, b child) int { return cmp.Compare(a.name, b.name) })
	return list
}

// under returns the entries below a directory; they are neighbours because entries are sorted by path.
func under(entries []Entry, dir string) []Entry {
	if dir == "." {
		return entries
	}
	from, _ := slices.BinarySearchFunc(entries, dir+"/", func(e Entry, p string) int { return cmp.Compare(e.Path, p) })
	to := from
	for to < len(entries) && strings.HasPrefix(entries[to].Path, dir+"/") {
		to++
	}
	return entries[from:to]
}

func cleanDir(dir string) string {
	if dir == "" {
		return "."
	}
	return strings.TrimSuffix(dir, "/")
}
