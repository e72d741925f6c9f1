package image_test

import (
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/image"
)

// FuzzBuild checks that any Dockerfile and any .dockerignore give an image whose
// parts agree with each other, twice the same.
func FuzzBuild(f *testing.F) {
	for _, list := range [][]buildCase{copyCases(), pathCases(), ignoreCases(), stageCases(), runInstructionCases(), addCases()} {
		for _, c := range list {
			f.Add([]byte(c.dockerfile), []byte("*.log\n!a.log\n"))
		}
	}
	f.Fuzz(func(t *testing.T, dockerfile, ignore []byte) {
		context := contextOf([]string{"a.txt", "b.txt", "tests/t.py", "tests/deep/u.py", "a.log", "in.tar=" + tarOf("x/one.txt", "two.txt")})
		context[".dockerignore"] = &fstest.MapFile{Data: ignore, Mode: 0o644}
		limits := image.Limits{Placed: 2000}
		img, issues := image.Build(dockerfile, context, image.Options{Limits: limits})
		consistent(t, img, issues, strings.Count(string(dockerfile), "\n")+1)
		again, issuesAgain := image.Build(dockerfile, context, image.Options{Limits: limits})
		if d := cmp.Diff(describeAll(img.Files), describeAll(again.Files)); d != "" {
			t.Errorf("the second answer differs:\n%s", d)
		}
		if d := cmp.Diff(issues, issuesAgain); d != "" {
			t.Errorf("the second issues differ:\n%s", d)
		}
	})
}

func consistent(t *testing.T, img image.Image, issues []image.Issue, last int) {
	t.Helper()
	visible := map[string]bool{}
	for _, p := range img.Files {
		if p.Target != path.Clean(p.Target) || !path.IsAbs(p.Target) {
			t.Errorf("%q is no clean absolute path", p.Target)
		}
		if p.Line < 1 || p.Line > last || p.Removed != (p.RemovedLine > 0) || p.RemovedLine > last {
			t.Errorf("%s: lines of a file with %d", describe(p), last)
		}
		if !p.Removed && visible[p.Target] {
			t.Errorf("%s is there twice", p.Target)
		}
		visible[p.Target] = visible[p.Target] || !p.Removed
		if b, err := p.Content(); err == nil && p.Size != int64(len(b)) && p.Link == "" {
			t.Errorf("%s has %d bytes, not %d", describe(p), len(b), p.Size)
		}
	}
	for _, i := range issues {
		if i.Line < 0 || i.Line > last || i.Message == "" || i.Code == "" {
			t.Errorf("issue %+v in a file with %d lines", i, last)
		}
	}
	if len(img.Files) > 0 && len(img.Stages) == 0 {
		t.Error("files without a stage")
	}
}

// FuzzArchive checks that any bytes can stand where ADD expects an archive.
func FuzzArchive(f *testing.F) {
	for _, s := range []string{"", tarOf("a", "../b"), gzipOf(tarOf("a/b")), bzipped(), zipOf("z"), gzipOf("x"), "\xfd7zXZ\x00", "PK\x03\x04"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		context := fstest.MapFS{"in": &fstest.MapFile{Data: archive, Mode: 0o644}}
		dockerfile := "FROM debian\nADD in /a/\nCOPY in /b/\nRUN unzip /b/in -d /c; tar xf /b/in -C /d\n"
		img, issues := image.Build([]byte(dockerfile), context, image.Options{Limits: image.Limits{ArchiveBytes: 1 << 20}})
		consistent(t, img, issues, 5)
	})
}
