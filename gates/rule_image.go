package gates

import (
	"fmt"
	"path"
	"strings"

	"github.com/posttrainarena/arena/gates/image"
	"github.com/posttrainarena/arena/gates/report"
)

// visible are the files of the agent's image that come out of the build context or the Dockerfile's own text.
func (s *subject) visible() []image.Placed {
	img := s.agentImage()
	if img == nil {
		return nil
	}
	var files []image.Placed
	for _, f := range img.Files {
		if !f.Removed && f.Link == "" {
			files = append(files, f)
		}
	}
	return files
}

// place names a file of the image for a message.
func place(f image.Placed) string {
	if f.Source == "" {
		return f.Target
	}
	return fmt.Sprintf("%s (from %s)", f.Target, path.Join(contextDir, f.Source))
}

// leaks fires when the image holds the reference solution or the verifier: by content whatever the name, or by a path
// that only they have.
func leaks(_ *batch, s *subject) []report.Finding {
	files := s.visible()
	found := s.leaksOfRoot()
	if len(files) == 0 {
		return found
	}
	all, lines := s.originals()
	for _, f := range files {
		code, message := s.leak(f, all, lines)
		if code != "" {
			s.leaked[f.Target] = true
			found = append(found, s.finding(code, dockerfile, f.Line, message))
		}
	}
	for _, f := range s.agentImage().Packed {
		if code, how := copied(f, all, lines); code != "" {
			s.leaked[f.Target] = true
			found = append(found, s.finding(code, dockerfile, f.Line, fmt.Sprintf("the image gets %s, in which %s has %s", place(f), f.Member, how)))
		}
	}
	return found
}

// leaksOfRoot looks at a Dockerfile that was written for a build in the package's own directory: its sources are not in
// environment/ but are the solution or the verifier. Where the build is run decides whether it fails or leaks.
func (s *subject) leaksOfRoot() []report.Finding {
	if !s.models.missingSource {
		return nil
	}
	src, ok := s.source(dockerfile)
	if !ok {
		return nil
	}
	img, _ := image.Build(src, s.FS, image.Options{})
	var found []report.Finding
	for _, f := range img.Files {
		code := ""
		switch {
		case s.OraclePath != "" && strings.HasPrefix(f.Source, path.Dir(s.OraclePath)+"/"):
			code = "oracle-in-image"
		case s.VerifierDir != "" && strings.HasPrefix(f.Source, s.VerifierDir+"/"):
			code = "verifier-in-image"
		}
		if code != "" && !f.Removed && !s.leaked[f.Target] {
			s.leaked[f.Target] = true
			found = append(found, s.finding(code, dockerfile, f.Line, fmt.Sprintf("the Dockerfile copies %s to %s", f.Source, f.Target)))
		}
	}
	return found
}

// leak judges one file of the image.
func (s *subject) leak(f image.Placed, all []original, lines map[string]bool) (code, message string) {
	if code, how := copied(f, all, lines); code != "" {
		return code, fmt.Sprintf("the image gets %s, which has %s", place(f), how)
	}
	top, _, _ := strings.Cut(f.Source, "/")
	switch base := path.Base(f.Source); {
	case f.Source == "" || s.prompted().file(f.Target):
		return "", ""
	case base == "solve.sh", (top == "oracle" || top == "solution") && f.Source != top:
		return "oracle-in-image", fmt.Sprintf("the image gets %s, where reference solutions are kept", place(f))
	case base == "test_outputs.py", top == "verifier" && f.Source != top:
		return "verifier-in-image", fmt.Sprintf("the image gets %s, where verifiers are kept", place(f))
	default:
		return "", ""
	}
}

// suspiciousNames marks files of the image that are named like answers or like verifiers, although nothing else says
// that they are.
func suspiciousNames(_ *batch, s *subject) []report.Finding {
	var found []report.Finding
	for _, f := range s.visible() {
		name := f.Source
		if name == "" || s.leaked[f.Target] || s.prompted().named(f.Target) || s.prompted().named(name) {
			continue
		}
		switch {
		case verifierLike(name):
			found = append(found, s.finding("verifier-named-file", dockerfile, f.Line, fmt.Sprintf("the image gets %s, which is named like a verifier", place(f))))
		case answerLike(name):
			found = append(found, s.finding("answer-like-file", dockerfile, f.Line, fmt.Sprintf("the image gets %s, which is named like an answer", place(f))))
		}
	}
	return found
}

// litter marks what a build context should not bring into an image: bytecode, caches and Git data. Each kind is one
// finding; a repository that the build clones is one of its own.
func litter(_ *batch, s *subject) []report.Finding {
	kinds := []struct {
		code string
		what func(int) string
		is   func(string) bool
	}{
		{"image-bytecode", func(n int) string { return plural(n, "compiled Python file") }, func(p string) bool {
			return strings.HasSuffix(p, ".pyc") || strings.HasSuffix(p, ".pyo") || hasPart(p, "__pycache__")
		}},
		{"image-cache", func(n int) string { return plural(n, "file") + " of tool caches" }, inCache},
		{"image-git", func(n int) string { return plural(n, "file") + " of a Git repository" }, func(p string) bool { return hasPart(p, ".git") && !s.prompted().git() }},
	}
	var found []report.Finding
	for _, k := range kinds {
		n, first := 0, image.Placed{}
		for _, f := range s.visible() {
			if !f.Clone && k.is(f.Target) {
				if n++; n == 1 {
					first = f
				}
			}
		}
		if n > 0 {
			found = append(found, s.finding(k.code, dockerfile, first.Line, fmt.Sprintf("the image gets %s, the first being %s", k.what(n), place(first))))
		}
	}
	for _, f := range s.visible() {
		if f.Clone {
			found = append(found, s.finding("image-git", dockerfile, f.Line, fmt.Sprintf("git clone of %s leaves its history in %s", f.URL, path.Dir(f.Target))))
		}
	}
	return found
}

// inCache reports whether a path lies in a cache that a tool made. A directory that is only called .cache can be data.
func inCache(p string) bool {
	for _, name := range []string{".pytest_cache", ".mypy_cache", ".ruff_cache", ".ipynb_checkpoints", ".hypothesis", ".tox", ".nox"} {
		if hasPart(p, name) {
			return true
		}
	}
	for _, place := range []string{"/node_modules/.cache/", "/.cache/pip/", "/.cache/uv/", "/.cache/pytest/"} {
		if strings.Contains(p, place) {
			return true
		}
	}
	return false
}

// hasPart reports whether a path has a component of a name.
func hasPart(p, part string) bool {
	for c := range strings.SplitSeq(p, "/") {
		if c == part {
			return true
		}
	}
	return false
}

// remoteAdd marks ADD from the network without a checksum.
func remoteAdd(_ *batch, s *subject) []report.Finding {
	img := s.agentImage()
	if img == nil {
		return nil
	}
	var found []report.Finding
	for _, a := range img.RemoteAdds {
		if a.Checksum == "" {
			found = append(found, s.finding("remote-add", dockerfile, a.Line, fmt.Sprintf("ADD takes %s from the network without a checksum", a.URL)))
		}
	}
	return found
}
