package gates

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/posttrainarena/arena/gates/image"
	"github.com/posttrainarena/arena/gates/pysyntax"
	"github.com/posttrainarena/arena/gates/pysyntax/pyfacts"
	"github.com/posttrainarena/arena/gates/shell"
	"github.com/posttrainarena/arena/gates/task"
)

// models are what the parsers make of a package's files. Each is made once, when a rule first asks for it, and a file
// that a parser refuses is recorded for the rule unparsed.
type models struct {
	image    *image.Image
	verifier *shell.VerifierFacts
	solution *shell.SolutionFacts
	tests    []testFile
	prompt   *mentions
	made     struct{ image, verifier, solution, tests bool }

	missingSource bool // the Dockerfile copies what the build context does not have
}

// The places of a package that the build and the harness give a meaning to.
const (
	contextDir = "environment"
	dockerfile = "environment/Dockerfile"
)

// agentImage is what the Dockerfile puts into the agent's image; nil when there is none that can be read.
func (s *subject) agentImage() *image.Image {
	if s.models.made.image {
		return s.models.image
	}
	s.models.made.image = true
	src, ok := s.source(dockerfile)
	if !ok {
		return nil
	}
	context, err := fs.Sub(s.FS, contextDir)
	if err != nil {
		return nil
	}
	built, issues := image.Build(src, context, image.Options{})
	for _, issue := range issues {
		switch issue.Code {
		case image.CodeUnparsed, image.CodeNoFrom, image.CodeBase, image.CodeStage, image.CodeCircular, image.CodeLimit:
			s.refuse(dockerfile, issue.Line, "the Dockerfile cannot be followed: "+issue.Message)
		}
		s.models.missingSource = s.models.missingSource || issue.Code == image.CodeMissing
	}
	for _, a := range built.Unlisted {
		if a.Source != "" {
			s.refuse(dockerfile, a.Line, fmt.Sprintf("the archive %s, which is unpacked to %s, cannot be looked into: %s", a.Source, a.Target, a.Reason))
		}
	}
	s.models.image = &built
	return s.models.image
}

// imageEnv are the variables that the Dockerfile sets for whatever runs in the image, the verifier too.
func (s *subject) imageEnv() map[string]string {
	if img := s.agentImage(); img != nil {
		return img.Env
	}
	return nil
}

// verifierFacts is what the verifier's script does; nil when there is none that can be read as a shell script.
func (s *subject) verifierFacts() *shell.VerifierFacts {
	if s.models.made.verifier {
		return s.models.verifier
	}
	s.models.made.verifier = true
	s.models.verifier = readScript(s, s.verifierScript(), func(script []byte) (shell.VerifierFacts, error) {
		return shell.Verifier(script, s.imageEnv())
	})
	if s.models.verifier != nil && s.models.verifier.Truncated {
		s.refuse(s.verifierScript(), 0, "the shell script is too much to be followed to its end")
	}
	return s.models.verifier
}

// solutionFacts is what the reference solution does; nil when there is none that can be read as a shell script.
func (s *subject) solutionFacts() *shell.SolutionFacts {
	if s.models.made.solution {
		return s.models.solution
	}
	s.models.made.solution = true
	s.models.solution = readScript(s, s.OraclePath, shell.Solution)
	if s.models.solution != nil && s.models.solution.Truncated {
		s.refuse(s.OraclePath, 0, "the shell script is too much to be followed to its end")
	}
	return s.models.solution
}

// verifierScript is the path of test.sh, empty when the package has no verifier.
func (s *subject) verifierScript() string {
	if s.VerifierDir == "" {
		return ""
	}
	return s.VerifierDir + "/test.sh"
}

// readScript follows a script with one of the shell models. What a script's syntax is worth is for shell to say, which
// stops, as the interpreter does, where the script ends itself.
func readScript[T any](s *subject, name string, follow func([]byte) (T, error)) *T {
	if name == "" {
		return nil
	}
	src, ok := s.source(name)
	if !ok {
		return nil
	}
	facts, err := follow(src)
	if err != nil {
		bad, ok := errors.AsType[*shell.SyntaxError](err)
		if _, parsed := s.shell(name); parsed && ok && bad.LineEnds {
			s.refuse(name, bad.Line, "the shell script cannot be parsed: "+bad.Message)
		}
		return nil
	}
	return &facts
}

// testFile is one Python file of tests.
type testFile struct {
	path  string
	facts *pyfacts.Facts
}

// testFiles are the verifier's Python tests, by path.
func (s *subject) testFiles() []testFile {
	if s.models.made.tests {
		return s.models.tests
	}
	s.models.made.tests = true
	for _, e := range s.Files {
		if e.Kind != task.File || !s.isTest(e.Path) {
			continue
		}
		src, ok := s.source(e.Path)
		if !ok {
			continue
		}
		module, err := pysyntax.Parse(src, pysyntax.Options{})
		if bad, ok := errors.AsType[*pysyntax.Error](err); ok {
			s.refuse(e.Path, bad.Line, fmt.Sprintf("the Python file cannot be parsed: %s", bad.Msg))
		}
		if err == nil {
			s.models.tests = append(s.models.tests, testFile{e.Path, pyfacts.Collect(module, s.imageEnv())})
		}
	}
	return s.models.tests
}

// isTest reports whether a file is one that pytest collects from the verifier.
func (s *subject) isTest(name string) bool {
	dir, base := path.Split(name)
	return s.VerifierDir != "" && strings.HasPrefix(dir, s.VerifierDir+"/") && strings.HasSuffix(base, ".py") &&
		(strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py"))
}

// offline reports whether the task says that it has no network. Where it says nothing it is taken to have one.
func (s *subject) offline() bool {
	for _, table := range []string{"environment", "sandbox"} {
		if allowed, ok := s.Frontmatter.Get(table, "allow_internet").AsBool(); ok && !allowed {
			return true
		}
		if mode, ok := s.Frontmatter.Get(table, "network_mode").AsText(); ok && mode == "no-network" {
			return true
		}
	}
	return false
}

// mentions answers which files a prompt speaks of.
type mentions struct{ text string }

// prompted is what the package's prompt mentions.
func (s *subject) prompted() *mentions {
	if s.models.prompt == nil {
		s.models.prompt = &mentions{strings.ToLower(s.Prompt)}
	}
	return s.models.prompt
}

// file reports whether the prompt names a file or the directory it is in.
func (m *mentions) file(name string) bool { return m.named(name) || m.dir(path.Dir(name)) }

// named reports whether the prompt names a file itself: by its base name, or by that without its ending. A plain word
// is no such name, because the prompt may use it in its own sense. A number in the name may stand as a placeholder.
func (m *mentions) named(name string) bool {
	base := path.Base(name)
	if m.numbered(base) {
		return true
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	if base == strings.ToLower(base) && !peculiar(base) {
		return m.word("/" + base)
	}
	return m.word(base) || len(stem) >= 6 && peculiar(stem) && m.word(stem)
}

// numbered reports whether the prompt has a name with a placeholder for the number in it: part_<id>.txt, part_{n}.txt,
// part_*.txt, part_N.txt.
func (m *mentions) numbered(base string) bool {
	base = strings.ToLower(base)
	from := strings.IndexAny(base, "0123456789")
	if from < 3 {
		return false
	}
	before, after := base[:from], strings.TrimLeft(base[from:], "0123456789")
	for rest := m.text; ; {
		_, behind, found := strings.Cut(rest, before)
		if !found {
			return false
		}
		placeholder, _, ends := strings.Cut(behind[:min(len(behind), 20+len(after))], after)
		if ends && after != "" && placeholder != "" && (strings.ContainsAny(placeholder[:1], "<{[*#%$?") || len(placeholder) == 1) {
			return true
		}
		rest = behind
	}
}

// peculiar reports whether a name cannot be a word of a sentence.
func peculiar(name string) bool { return strings.ContainsAny(name, "_-.0123456789") }

// dir reports whether the prompt names a directory or one above it. Those in which every file of an image is do not
// count.
func (m *mentions) dir(name string) bool {
	for ; strings.Count(name, "/") >= 2; name = path.Dir(name) {
		if m.word(name) || m.word(path.Base(name)+"/") {
			return true
		}
	}
	return !usualRoot(name) && m.word(name)
}

// usualRoot reports whether a top-level directory is one that tasks commonly put everything into, or the system's.
func usualRoot(name string) bool {
	switch name {
	case "/", ".", "/app", "/workspace", "/work", "/data", "/home", "/root", "/opt", "/srv", "/usr", "/etc", "/var", "/tmp", "/src", "/mnt", "/project", "/task", "/code":
		return true
	}
	return false
}

// git reports whether the prompt is about a repository.
func (m *mentions) git() bool {
	return m.word("git") || m.word(".git") || m.word("repository") || m.word("commit") || m.word("commits")
}

// word reports whether the prompt has a text that no letter or digit continues.
func (m *mentions) word(text string) bool {
	text = strings.ToLower(text)
	if text == "" {
		return false
	}
	for rest, from := m.text, 0; ; {
		i := strings.Index(rest, text)
		if i < 0 {
			return false
		}
		end := from + i + len(text)
		if (!continuesWord(m.text, from+i-1) || text[0] == '/') && (!continuesWord(m.text, end) || strings.HasSuffix(text, "/")) {
			return true
		}
		from += i + 1
		rest = m.text[from:]
	}
}

// continuesWord reports whether the byte at i belongs to a word; there is none outside the text.
func continuesWord(text string, i int) bool {
	if i < 0 || i >= len(text) {
		return false
	}
	c := text[i]
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 0x80
}
