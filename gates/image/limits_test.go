package image_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/image"
)

// TestLimits covers inputs that are larger than what is read. The rest is still
// modelled, the image is marked as truncated and an issue says why.
func TestLimits(t *testing.T) {
	many := fstest.MapFS{}
	for i := range 50 {
		many[fmt.Sprintf("f%02d", i)] = &fstest.MapFile{Mode: 0o644}
	}
	deep := fstest.MapFS{strings.Repeat("d/", 30) + "f": {Mode: 0o644}, "top": {Mode: 0o644}}
	for _, c := range []struct {
		name, dockerfile string
		context          fs.FS
		limits           image.Limits
		files            int
		issues           []string
	}{
		{"files", "FROM scratch\nCOPY . /\n", many, image.Limits{Files: 10}, 10, []string{"limit:0"}},
		{"depth", "FROM scratch\nCOPY . /\n", deep, image.Limits{Depth: 5}, 1, []string{"limit:0"}},
		{"placed", "FROM scratch\nCOPY . /a/\nCOPY . /b/\n", many, image.Limits{Placed: 70}, 70, []string{"limit:3"}},
		{"the Dockerfile", "FROM scratch\n#" + strings.Repeat("x", 1<<20) + "\n", many, image.Limits{}, 0, []string{"limit:1"}},
		{"a line", "FROM scratch\nRUN echo " + strings.Repeat("x", 70_000) + "\n", many, image.Limits{}, 0, []string{"unparsed:2"}},
		{"stages", strings.Repeat("FROM scratch\n", 300), many, image.Limits{}, 0, []string{"limit:201"}},
		{"nesting in RUN", "FROM scratch\nCOPY f00 /\nRUN " + strings.Repeat("(", 20_000) + "\n", many, image.Limits{}, 1, []string{"unparsed:3"}},
		{"an archive", "FROM scratch\nADD in.tgz /\n", contextOf([]string{"in.tgz=" + gzipOf(tarOf("a", "b", "c", "d"))}), image.Limits{ArchiveBytes: 2048}, 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			img, issues := image.Build([]byte(c.dockerfile), c.context, image.Options{Limits: c.limits})
			if len(img.Files) != c.files {
				t.Errorf("%d files, want %d", len(img.Files), c.files)
			}
			var got []string
			for _, code := range codesOf(issues) {
				if len(got) == 0 || got[len(got)-1] != code {
					got = append(got, code)
				}
			}
			if d := cmp.Diff(c.issues, got); d != "" {
				t.Errorf("issues (-want +got):\n%s%v", d, issues)
			}
			if limited := len(c.issues) > 0 && strings.HasPrefix(c.issues[0], "limit"); img.Truncated != limited && c.name != "depth" {
				t.Errorf("truncated is %v", img.Truncated)
			}
		})
	}
}

// TestLargeFile covers a file that is placed, but too large to be read.
func TestLargeFile(t *testing.T) {
	img, _ := image.Build([]byte("FROM scratch\nCOPY . /\n"), contextOf([]string{"big=" + strings.Repeat("x", 100)}), image.Options{Limits: image.Limits{FileBytes: 99}})
	if len(img.Files) != 1 || img.Files[0].Size != 100 {
		t.Fatalf("files: %v", describeAll(img.Files))
	}
	if _, err := img.Files[0].Content(); !errors.Is(err, image.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

// TestSymlinks covers links in the build context: they are listed, not followed.
func TestSymlinks(t *testing.T) {
	context := fstest.MapFS{
		"real.txt": {Data: []byte("x"), Mode: 0o644},
		"link":     {Data: []byte("real.txt"), Mode: fs.ModeSymlink | 0o777},
		"loop":     {Data: []byte("loop"), Mode: fs.ModeSymlink | 0o777},
		"up":       {Data: []byte("../../etc"), Mode: fs.ModeSymlink | 0o777},
	}
	img, issues := image.Build([]byte("FROM scratch\nCOPY . /d/\nCOPY link /l\n"), context, image.Options{})
	want := []string{"/d/link = link COPY:2 link", "/d/loop = loop COPY:2 link", "/d/real.txt = real.txt COPY:2", "/d/up = up COPY:2 link", "/l = link COPY:3 link"}
	if d := cmp.Diff(want, describeAll(img.Files)); d != "" || len(issues) > 0 {
		t.Errorf("files (-want +got):\n%s%v", d, issues)
	}
	if _, err := img.Files[0].Content(); !errors.Is(err, image.ErrNoContent) {
		t.Errorf("error %v", err)
	}
}

// brokenFS is a build context that cannot be read.
type brokenFS struct{}

func (brokenFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

// TestUnreadableContext covers a context that fails, and one that is not there.
func TestUnreadableContext(t *testing.T) {
	img, issues := image.Build([]byte("FROM scratch\nCOPY <<EOF /x\nhi\nEOF\n"), brokenFS{}, image.Options{})
	if d := cmp.Diff([]string{"read:0", "read:0"}, codesOf(issues)); d != "" || len(img.Files) != 1 {
		t.Errorf("issues (-want +got):\n%s%v", d, describeAll(img.Files))
	}
	img, issues = image.Build([]byte("FROM scratch\nCOPY a /x\nCOPY . /y\n"), nil, image.Options{})
	if d := cmp.Diff([]string{"missing-source:2"}, codesOf(issues)); d != "" || len(img.Files) != 0 {
		t.Errorf("issues (-want +got):\n%s%v", d, describeAll(img.Files))
	}
}

// TestBombs covers inputs that are small and would grow without end.
func TestBombs(t *testing.T) {
	doubling := "FROM scratch\nENV X=0123456789\n" + strings.Repeat("ENV X=$X$X\n", 60)
	zeros := strings.Repeat("\x00", 8<<20)
	for _, c := range []struct {
		name, dockerfile string
		context          fs.FS
	}{
		{"doubling variables", doubling + "COPY a /$X\n", contextOf([]string{"a"})},
		{"doubling arguments", "ARG X=0123456789\n" + strings.Repeat("ARG X=$X$X\n", 60) + "FROM scratch\n", nil},
		{"variables in a here-document", doubling + "COPY <<EOF /x\n" + strings.Repeat("$X", 200_000) + "\nEOF\n", nil},
		{"nested variables in a here-document", "FROM scratch\nCOPY <<EOF /x\n" + strings.Repeat("${X:-", 150_000) + "\nEOF\n", nil},
		{"copies of copies", "FROM scratch\nCOPY . /a/\n" + strings.Repeat("RUN cp -r /a /b && cp -r /b /a/c\n", 500), contextOf([]string{"a", "b", "c", "d"})},
		{"a packed giant", "FROM scratch\n" + strings.Repeat("ADD in.gz /\n", 50), contextOf([]string{"in.gz=" + gzipOf(tarOf("a")[:1024]+zeros)})},
		{"many instructions", "FROM scratch\n" + strings.Repeat("RUN a\n", 10_000), nil},
		{"doubling in the shell", "FROM scratch\nRUN x=0123456789; " + strings.Repeat("x=$x$x; ", 4000) + "echo $x > /y\n", nil},
		{"loops in loops", "FROM scratch\nRUN " + strings.Repeat("for i in {1..32}; do ", 8) + "echo " + strings.Repeat("x ", 10_000) + "> /y; " + strings.Repeat("done; ", 8) + "\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			img, issues := image.Build([]byte(c.dockerfile), c.context, image.Options{Limits: image.Limits{ArchiveBytes: 1 << 20, Placed: 20_000}})
			if total := len(img.Files) + len(issues) + len(img.Unlisted); total > 110_000 {
				t.Errorf("%d results", total)
			}
		})
	}
}
