package gates

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"path"
	"strings"

	"github.com/posttrainarena/arena/gates/image"
	"github.com/posttrainarena/arena/gates/pysyntax/pyfacts"
	"github.com/posttrainarena/arena/gates/task"
)

// A copy is found by what it says, so that a new name does not hide it.
const (
	// containment is how much of a file's significant lines another must have to be a copy of it.
	containment = 0.8
	// minLines and minLetters are what a file must have before a partial copy can be told from common phrases.
	minLines   = 5
	minLetters = 100
	// minSame is how many letters a whole file must have for its exact twin to be more than chance.
	minSame = 24
)

// fingerprint is a file reduced to what makes it that file: its lines without blanks, comments and indentation.
type fingerprint struct {
	path    string
	whole   [sha256.Size]byte
	letters int
	lines   map[string]bool
	code    bool // without comments; data is compared as a whole only, because no part of it says what the rest is
}

// newFingerprint reduces a file, as program text or as data. If wanted is not nil, only lines that it has are kept.
func newFingerprint(name string, content []byte, code bool, wanted map[string]bool) fingerprint {
	f := fingerprint{path: name, lines: map[string]bool{}, code: code}
	h := sha256.New()
	var text []byte
	for line := range bytes.Lines(content) {
		text = squeeze(text[:0], line)
		if len(text) == 0 || code && comment(text) {
			continue
		}
		f.letters += len(text)
		if code && (wanted == nil || wanted[string(text)]) {
			f.lines[string(text)] = true
		}
		h.Write(append(text, '\n'))
	}
	h.Sum(f.whole[:0])
	return f
}

// squeeze appends a line to buf without blanks at its ends and with single spaces inside.
func squeeze(buf, line []byte) []byte {
	for word := range bytes.FieldsSeq(line) {
		if len(buf) > 0 {
			buf = append(buf, ' ')
		}
		buf = append(buf, word...)
	}
	return buf
}

// comment reports whether a trimmed line of code says nothing to the machine, the interpreter line included.
func comment(line []byte) bool {
	return bytes.HasPrefix(line, []byte("#")) || bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(line, []byte("set -"))
}

// in says how a file of the image, reduced in the same way, holds this one: "" when it does not.
func (f fingerprint) in(other fingerprint) string {
	switch {
	case f.letters < minSame || other.letters == 0:
		return ""
	case f.whole == other.whole:
		return "the same content as"
	case !f.code || len(f.lines) < minLines || f.letters < minLetters:
		return ""
	}
	shared := 0
	for line := range f.lines {
		if other.lines[line] {
			shared++
		}
	}
	if float64(shared) < containment*float64(len(f.lines)) {
		return ""
	}
	return "most lines of"
}

// fingerprints reduces the files of a directory that pass a filter.
func (s *subject) fingerprints(dir string, keep func(task.Entry) bool) []fingerprint {
	var all []fingerprint
	for _, e := range s.Files {
		if e.Kind != task.File || !strings.HasPrefix(e.Path, dir+"/") || !keep(e) {
			continue
		}
		// A file that cannot be read is the business of the rule that needs it.
		if content, err := s.ReadText(e.Path); err == nil {
			all = append(all, newFingerprint(e.Path, content, codeFile(e.Path), nil))
		}
	}
	return all
}

// original is what copies are looked for of: the parts of the solution or of the verifier.
type original struct {
	code  string // of the finding
	parts []fingerprint
}

// originals are the solution and the verifier, and the lines of all their program text.
func (s *subject) originals() ([]original, map[string]bool) {
	all := []original{{"oracle-in-image", s.solutionParts()}, {"verifier-in-image", s.verifierParts()}}
	lines := map[string]bool{}
	for _, o := range all {
		for _, part := range o.parts {
			maps.Copy(lines, part.lines)
		}
	}
	return all, lines
}

// copied says whether a file of the image is a copy of an original's part, whatever it is called.
func copied(f image.Placed, all []original, lines map[string]bool) (code, how string) {
	content, err := f.Content()
	if err != nil {
		return "", ""
	}
	var as [2]*fingerprint // as data, as program text
	for _, o := range all {
		for _, part := range o.parts {
			form := &as[0]
			if part.code {
				form = &as[1]
			}
			if *form == nil {
				here := newFingerprint(f.Target, content, part.code, lines)
				*form = &here
			}
			if how := part.in(**form); how != "" {
				return o.code, how + " " + part.path
			}
		}
	}
	return "", ""
}

// solutionParts are the files that hold the reference solution: its script, and those of its directory that the
// script names. Other files there may be inputs, which the image has by right.
func (s *subject) solutionParts() []fingerprint {
	if s.OraclePath == "" {
		return nil
	}
	script, err := s.ReadText(s.OraclePath)
	if err != nil {
		return nil
	}
	return s.fingerprints(path.Dir(s.OraclePath), func(e task.Entry) bool {
		base := path.Base(e.Path)
		return e.Path == s.OraclePath || (codeFile(base) || answerLike(base)) && bytes.Contains(script, []byte(base))
	})
}

// verifierParts are the files that decide the reward: those that test.sh or the tests run, import or read, and what is
// named like an expected result. Other files of the verifier are often second copies of the inputs.
func (s *subject) verifierParts() []fingerprint {
	if s.VerifierDir == "" {
		return nil
	}
	used := s.usedByVerifier()
	return s.fingerprints(s.VerifierDir, func(e task.Entry) bool {
		base, below := path.Base(e.Path), strings.TrimPrefix(e.Path, s.VerifierDir+"/")
		switch {
		case below == "test.sh", below == "test_outputs.py", answerLike(base) && base != "verifier.md":
			return true
		case !codeFile(base):
			return false
		}
		for ; below != "."; below = path.Dir(below) {
			if used[below] {
				return true
			}
		}
		return used["."]
	})
}

// usedByVerifier are the files and directories of the verifier, below its directory, that its script and tests use.
func (s *subject) usedByVerifier() map[string]bool {
	used := map[string]bool{}
	mounted := func(name string) {
		for _, mount := range []string{"/tests", "/verifier", pyfacts.Here} {
			if below, ok := strings.CutPrefix(name, mount); ok && (below == "" || below[0] == '/') {
				used[path.Join(".", below)] = true
			}
		}
	}
	facts := s.verifierFacts()
	if facts == nil {
		return map[string]bool{".": true} // it may use all
	}
	for _, use := range facts.Files {
		if name, known := use.Path.Const(); known {
			mounted(path.Clean(name))
		}
	}
	for _, t := range s.testFiles() {
		for _, use := range t.facts.Paths {
			mounted(use.Path)
		}
		for _, command := range t.facts.Commands {
			for _, arg := range command.Args {
				mounted(arg)
			}
		}
		for _, i := range t.facts.Imports {
			used[strings.ReplaceAll(strings.TrimLeft(i.Module, "."), ".", "/")+".py"] = true
		}
	}
	return used
}
