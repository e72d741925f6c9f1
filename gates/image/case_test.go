package image_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/image"
)

// buildCase is one Dockerfile, its build context and what the image then holds.
type buildCase struct {
	name       string
	dockerfile string
	// context lists files; the content of "a/b.txt" is "a/b.txt" unless the
	// entry says "a/b.txt=content".
	context []string
	opts    image.Options
	// want lists the files: "TARGET = SOURCE VIA:LINE", with "-" for files that
	// the build writes itself. See describe for what may follow.
	want []string
	// issues lists "CODE:LINE".
	issues []string
	// real says that the case can be built without a base image or a shell, so
	// that a build tool can confirm it: "docker" by any of them, "buildkit" only
	// by those with the current syntax.
	real string
}

func contextOf(entries []string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for _, e := range entries {
		name, content, ok := strings.Cut(e, "=")
		if !ok {
			content = name
		}
		fsys[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return fsys
}

// describe renders a file: how it got there, and what happened to it.
func describe(p image.Placed) string {
	source := p.Source
	if source == "" {
		source = "-"
	}
	if p.Member != "" {
		source += "!" + p.Member
	}
	s := fmt.Sprintf("%s = %s %s:%d", p.Target, source, p.Via, p.Line)
	if p.URL != "" {
		s += " url"
	}
	if p.Link != "" {
		s += " link"
	}
	if p.Guard != "" {
		s += " maybe"
	}
	if p.Modified {
		s += " changed"
	}
	if p.Removed {
		s += fmt.Sprintf(" removed:%d", p.RemovedLine)
	}
	return s
}

func describeAll(files []image.Placed) []string {
	var out []string
	for _, p := range files {
		out = append(out, describe(p))
	}
	return out
}

func codesOf(issues []image.Issue) []string {
	var out []string
	for _, i := range issues {
		out = append(out, fmt.Sprintf("%s:%d", i.Code, i.Line))
	}
	return out
}

// runCases checks a table of cases.
func runCases(t *testing.T, cases []buildCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			img, issues := image.Build([]byte(c.dockerfile), contextOf(c.context), c.opts)
			if d := cmp.Diff(c.want, describeAll(img.Files)); d != "" {
				t.Errorf("files (-want +got):\n%s\nissues: %v", d, issues)
			}
			if d := cmp.Diff(c.issues, codesOf(issues)); d != "" {
				t.Errorf("issues (-want +got):\n%s\n%v", d, issues)
			}
			for _, i := range issues {
				if i.Message == "" || i.Error() == "" {
					t.Errorf("issue %s:%d has no message", i.Code, i.Line)
				}
			}
		})
	}
}

// contentOf reads one file of an image.
func contentOf(t *testing.T, img image.Image, target string) string {
	t.Helper()
	for _, p := range img.Files {
		if p.Target == target && !p.Removed {
			b, err := p.Content()
			if err != nil {
				t.Fatalf("content of %s: %v", target, err)
			}
			return string(b)
		}
	}
	t.Fatalf("the image has no %s", target)
	return ""
}
