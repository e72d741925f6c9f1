package gates

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
	"github.com/posttrainarena/arena/gates/pysyntax/pyfacts"
	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/shell"
)

// reading is one file outside the verifier that its verdict reads.
type reading struct {
	target string // absolute path in the image
	path   string // where in the package it is read
	line   int
}

// gradingReads lists the files outside the verifier whose content the verdict depends on.
func (s *subject) gradingReads() []reading {
	var all []reading
	add := func(target, file string, line int) {
		if path.IsAbs(target) && !strings.Contains(target, pyfacts.Unknown) && !shell.VerifierPath(target) {
			all = append(all, reading{path.Clean(target), file, line})
		}
	}
	for _, t := range s.testFiles() {
		for _, use := range t.facts.Paths {
			if use.Access == pyfacts.Read && use.Exact {
				add(use.Path, t.path, use.Line)
			}
		}
	}
	if facts := s.verifierFacts(); facts != nil {
		for _, use := range facts.Files {
			if target, known := use.Path.Const(); known && use.How == shell.UseRead {
				add(target, s.verifierScript(), use.Line)
			}
		}
	}
	return all
}

// built are the absolute paths that the image build creates, with the line of the Dockerfile: files that it places,
// paths that it hands to programs which may create them, and what Python programs of the build context write.
func (s *subject) built() map[string]int {
	img := s.agentImage()
	if img == nil {
		return nil
	}
	paths := map[string]int{}
	for _, run := range img.Opaque {
		for _, p := range run.Paths {
			paths[path.Clean(p)] = run.Line
		}
		for _, p := range s.writtenBy(run.Source) {
			paths[p] = run.Line
		}
	}
	for _, f := range s.visible() {
		paths[f.Target] = f.Line
	}
	return paths
}

// writtenBy are the absolute paths that a Python program of the build context writes.
func (s *subject) writtenBy(program string) []string {
	if path.Ext(program) != ".py" {
		return nil
	}
	src, ok := s.source(path.Join(contextDir, program))
	if !ok {
		return nil
	}
	module, err := pysyntax.Parse(src, pysyntax.Options{})
	if err != nil {
		return nil // the program may be broken on purpose: mending it can be the task
	}
	var paths []string
	for _, use := range pyfacts.Collect(module, nil).Paths {
		if use.Access == pyfacts.Write && use.Exact && path.IsAbs(use.Path) {
			paths = append(paths, path.Clean(use.Path))
		}
	}
	return paths
}

// gradingData fires when the verifier reads a file that the build creates and the prompt never mentions: an answer
// key when it is named like one, else something to look at.
func gradingData(_ *batch, s *subject) []report.Finding {
	built := s.built()
	if len(built) == 0 {
		return nil
	}
	first := map[string]reading{}
	for _, r := range s.gradingReads() {
		if _, twice := first[r.target]; !twice {
			first[r.target] = r
		}
	}
	var found []report.Finding
	for _, target := range slices.Sorted(maps.Keys(first)) {
		line, made := built[target]
		if !made || s.leaked[target] || s.prompted().named(target) {
			continue
		}
		r := first[target]
		code, what := "unmentioned-grading-data", "grading data"
		switch {
		case keyLike(target):
			code, what = "answer-key-in-image", "an answer key"
			s.leaked[target] = true
		case s.prompted().dir(path.Dir(target)):
			continue // among the inputs that the prompt speaks of
		}
		found = append(found, s.finding(code, r.path, r.line,
			fmt.Sprintf("the verifier reads %s, %s that line %d of the Dockerfile puts into the image and the prompt never mentions", target, what, line)))
	}
	return found
}
