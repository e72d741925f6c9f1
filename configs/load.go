package configs

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

//go:embed arena.toml known_issues.toml challenges models suites methods
var defaults embed.FS

// Bounds of what is read from a configuration directory.
const (
	maxFileBytes = 64 << 10
	maxFiles     = 500
)

// fragmentID is what the name of a fragment's file may be, without .toml.
var fragmentID = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,63}$`)

// Default returns the embedded configuration. Its error is always nil in a
// build whose tests pass.
func Default() (Config, error) { return Load(nil) }

// Load returns the embedded configuration with the files of a directory laid
// over it: arena.toml key by key, every other file in place of the default of
// the same name or beside the defaults. A nil overlay is the embedded
// configuration alone.
//
// The error is of type [Problems] and lists everything that is wrong: files
// that are not TOML, keys that are unknown, missing or of the wrong type, and
// fragments that are named but do not exist.
func Load(overlay fs.FS) (Config, error) {
	l := loader{overlay: overlay}
	cfg := Config{
		Arena:      l.arena(),
		Challenges: fragments(&l, "challenges", func(c *Challenge, id string, o Origin) { c.ID, c.Origin = id, o }),
		Models:     fragments(&l, "models", func(m *Model, id string, o Origin) { m.ID, m.Origin = id, o }),
		Suites:     fragments(&l, "suites", func(s *Suite, id string, o Origin) { s.ID, s.Origin = id, o }),
		Methods:    fragments(&l, "methods", func(m *Method, id string, o Origin) { m.ID, m.Origin = id, o }),
	}
	cfg.KnownIssues = l.knownIssues()
	l.strays()
	if len(l.problems) == 0 { // references into files that do not parse are no news
		l.problems = check(cfg)
	}
	return cfg, l.problems.Err()
}

// loader reads files from two places and gathers what is wrong with them.
type loader struct {
	overlay  fs.FS // nil when there is none
	problems Problems
}

func (l *loader) arena() Arena {
	doc, _ := l.readFrom(defaults, "arena.toml")
	arena, origin, problems := decode("arena.toml", doc, Arena{})
	l.problems = append(l.problems, problems...)
	l.problems = append(l.problems, missing(origin, reflect.TypeFor[Arena](), "")...)
	arena.Origin = origin
	if doc, ok := l.readFrom(l.overlay, "arena.toml"); ok {
		arena, origin, problems = decode("arena.toml", doc, arena)
		l.problems = append(l.problems, problems...)
		arena.Origin = origin // what the overlay does not set is the default's, and right
	}
	return arena
}

func (l *loader) knownIssues() []KnownIssue {
	type file struct {
		Issues []KnownIssue `toml:"issue"`
	}
	const name = "known_issues.toml"
	f, origin, problems := decode(name, l.read(name), file{})
	l.problems = append(l.problems, problems...)
	if len(problems) > 0 {
		return nil
	}
	for i := range f.Issues {
		f.Issues[i].Origin = Origin{File: name, base: fmt.Sprintf("issue[%d]", i), keys: origin.keys}
		l.problems = append(l.problems, missing(f.Issues[i].Origin, reflect.TypeFor[KnownIssue](), "")...)
	}
	l.problems = append(l.problems, checkIssues(f.Issues)...)
	return f.Issues
}

// fragments reads all files of one folder. name gives a fragment its id and
// origin.
func fragments[T any](l *loader, folder string, name func(*T, string, Origin)) map[string]T {
	all := map[string]T{}
	for _, file := range l.list(folder) {
		id := strings.TrimSuffix(path.Base(file), ".toml")
		if !fragmentID.MatchString(id) {
			l.problems = append(l.problems, Problem{File: file, Message: "the name of the file is the fragment's id and must be of a-z 0-9 . and -, at most 64 characters"})
			continue
		}
		var zero T
		value, origin, problems := decode(file, l.read(file), zero)
		l.problems = append(l.problems, problems...)
		if len(problems) == 0 {
			l.problems = append(l.problems, missing(origin, reflect.TypeFor[T](), "")...)
		}
		name(&value, id, origin)
		all[id] = value
	}
	return all
}

// list names the .toml files of a folder in either place, sorted.
func (l *loader) list(folder string) []string {
	names := map[string]bool{}
	for _, place := range []fs.FS{defaults, l.overlay} {
		if place == nil {
			continue
		}
		entries, err := fs.ReadDir(place, folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.problems = append(l.problems, Problem{File: folder, Message: fmt.Sprintf("cannot be read: %v", err)})
		}
		for _, e := range entries {
			if !e.IsDir() && strings.HasSuffix(e.Name(), ".toml") {
				names[path.Join(folder, e.Name())] = true
			}
		}
	}
	if len(names) > maxFiles {
		l.problems = append(l.problems, Problem{File: folder, Message: fmt.Sprintf("has %d files; at most %d are read", len(names), maxFiles)})
		return nil
	}
	return slices.Sorted(maps.Keys(names))
}

// read returns a file, from the overlay when it has it.
func (l *loader) read(name string) []byte {
	if doc, ok := l.readFrom(l.overlay, name); ok {
		return doc
	}
	doc, _ := l.readFrom(defaults, name)
	return doc
}

// readFrom returns a file of one place and whether it is there.
func (l *loader) readFrom(place fs.FS, name string) ([]byte, bool) {
	if place == nil {
		return nil, false
	}
	f, err := place.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err == nil {
		defer f.Close()
		var doc []byte
		doc, err = io.ReadAll(io.LimitReader(f, maxFileBytes+1))
		if err == nil && len(doc) <= maxFileBytes {
			return doc, true
		}
	}
	message := fmt.Sprintf("is larger than %d bytes", maxFileBytes)
	if err != nil {
		message = fmt.Sprintf("cannot be read: %v", err)
	}
	l.problems = append(l.problems, Problem{File: name, Message: message})
	return nil, true
}

// strays reports TOML files of the overlay that nothing reads: most often a
// misspelled name, which would otherwise be ignored in silence.
func (l *loader) strays() {
	if l.overlay == nil {
		return
	}
	files := []string{"arena.toml", "known_issues.toml"}
	folders := []string{"challenges", "methods", "models", "suites"}
	seen := 0
	err := fs.WalkDir(l.overlay, ".", func(name string, e fs.DirEntry, err error) error {
		if seen++; err != nil || seen > 10*maxFiles {
			if err == nil {
				err = fmt.Errorf("it has more than %d entries", 10*maxFiles)
			}
			return err
		}
		if e.IsDir() || !strings.HasSuffix(name, ".toml") || slices.Contains(files, name) {
			return nil
		}
		folder, base := path.Split(name)
		folder = path.Clean(folder)
		switch {
		case slices.Contains(folders, folder):
		case folder == ".":
			l.problems = append(l.problems, Problem{File: name, Message: "is not a file of a configuration", Fix: suggestion(base, files)})
		default:
			l.problems = append(l.problems, Problem{File: name, Message: "is not in a folder of a configuration", Fix: suggestion(folder, folders)})
		}
		return nil
	})
	if err != nil {
		l.problems = append(l.problems, Problem{File: ".", Message: fmt.Sprintf("the directory cannot be read: %v", err)})
	}
}
