package adversary

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/gates/shell"
	"github.com/posttrainarena/arena/gates/task"
)

// surface is what an attacker reads in a package.
type surface struct {
	named   []string // files that the verifier names and the solution does not; relative ones are of the working directory
	outputs []string // files that the solution makes, as far as they can be told
	work    []string // base names that the solution's files mention: the work itself, which is no way to cheat
	python  bool     // the verifier is Python or runs it
	pytest  bool
}

// The bounds of what is taken from a package: an attack goes to the container as one argument, of at most 128 KiB.
const (
	maxNamed = 300
	maxWork  = 1500
	maxPath  = 120
)

// system are the places that are nobody's work and nobody's tests.
func system(p string) bool {
	for _, dir := range []string{"/bin", "/sbin", "/usr", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys", "/logs", "/verifier", "/tests", "/oracle", "/solution"} {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return p == "/" || p == "/tmp" || strings.HasPrefix(p, Kit)
}

// surfaceOf reads a package.
func surfaceOf(p *task.Package) surface {
	var s surface
	own, work := map[string]bool{}, map[string]bool{}
	texts := func(dir string, each func(name string, text []byte)) {
		for _, e := range p.Files {
			if e.Kind != task.File || !strings.HasPrefix(e.Path, dir+"/") {
				continue
			}
			if text, err := p.ReadText(e.Path); err == nil && !slices.Contains(text, 0) {
				each(e.Path, text)
			}
		}
	}
	if p.OraclePath != "" {
		script, err := p.ReadText(p.OraclePath)
		if err == nil {
			if facts, err := shell.Solution(script); err == nil {
				for _, w := range facts.Written {
					if name, ok := w.Path.Const(); ok && usable(name) && !system(name) {
						s.outputs = append(s.outputs, name)
						work[path.Base(name)] = true
					}
				}
			}
		}
		texts(path.Dir(p.OraclePath), func(_ string, text []byte) {
			for _, name := range mentioned(string(text)) {
				work[path.Base(name)] = true
			}
		})
	}
	if p.VerifierDir != "" {
		for _, e := range p.Files {
			if rest, ok := strings.CutPrefix(e.Path, p.VerifierDir+"/"); ok {
				own[path.Base(rest)] = true
			}
		}
		take := func(name string) {
			if usable(name) && !system(name) && !work[path.Base(name)] && !own[path.Base(name)] {
				s.named = append(s.named, name)
			}
		}
		texts(p.VerifierDir, func(name string, text []byte) {
			low := strings.ToLower(string(text))
			s.pytest = s.pytest || strings.Contains(low, "pytest")
			s.python = s.python || s.pytest || strings.HasSuffix(name, ".py") || strings.Contains(low, "python")
			for _, m := range mentioned(string(text)) {
				take(m)
			}
			if path.Base(name) == "test.sh" {
				if facts, err := shell.Verifier(text, nil); err == nil {
					for _, f := range facts.Files {
						if at, ok := f.Path.Const(); ok {
							take(at)
						}
					}
				}
			}
		})
	}
	s.named, s.outputs = distinct(s.named, maxNamed), distinct(s.outputs, maxNamed)
	for name := range work {
		s.work = append(s.work, name)
	}
	s.work = distinct(s.work, maxWork)
	return s
}

// distinct sorts names, leaves out repetitions, and bounds them.
func distinct(all []string, limit int) []string {
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), limit)]
}

// usable reports whether a name can stand on a line of a list. Words that are options, addresses or patterns cannot.
func usable(name string) bool {
	return name != "" && len(name) <= maxPath && !strings.HasPrefix(name, "-") && !strings.Contains(name, "..") && !strings.Contains(name, "//") &&
		!strings.ContainsAny(name, "\n\r\x00*?[]$`'\"\\ ") && strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
}

// mentioned lists the words of a text that look like paths or file names.
func mentioned(text string) []string {
	var all []string
	for _, word := range regexp.MustCompile(`[A-Za-z0-9_@%+./~-]+`).FindAllString(text, 20_000) {
		word = strings.TrimRight(word, "./-")
		if usable(word) && fileLike(word) {
			all = append(all, path.Clean(word))
		}
	}
	return all
}

// fileLike reports whether a word is a path or ends like the name of a file. Programs are full of words with dots that
// are neither.
func fileLike(word string) bool {
	if strings.Contains(word, "@") {
		return false
	}
	if strings.Contains(word, "/") {
		return true
	}
	switch path.Ext(word) {
	case ".txt", ".json", ".jsonl", ".csv", ".tsv", ".md", ".log", ".out", ".dat", ".data", ".bin", ".db", ".sqlite", ".pkl", ".npy", ".npz", ".parquet", ".xml", ".html",
		".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".lock", ".diff", ".patch", ".sql", ".sh", ".py", ".js", ".mjs", ".ts", ".c", ".h", ".cc", ".cpp", ".hpp",
		".go", ".rs", ".java", ".rb", ".pl", ".lua", ".r", ".jl", ".so", ".o", ".a", ".jar", ".gz", ".tar", ".tgz", ".zip", ".png", ".jpg", ".svg", ".pdf", ".wav", ".mid", ".scad", ".stl":
		return true
	default:
		return false
	}
}
