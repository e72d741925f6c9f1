package store_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

// files is a tree in memory: what a client would upload.
type files map[string][]byte

// listing lists a tree as its uploader knows it, in no order.
func (f files) listing() []protocol.TreeFile {
	var list []protocol.TreeFile
	for path, body := range f {
		sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(body)), body...))
		kind := protocol.FileRegular
		if strings.HasSuffix(path, ".sh") {
			kind = protocol.FileExecutable
		}
		list = append(list, protocol.TreeFile{Path: path, Kind: kind, Size: int64(len(body)), Blob: hex.EncodeToString(sum[:])})
	}
	return list
}

func (f files) open(path string) (io.ReadCloser, error) {
	body, ok := f[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(body)), nil
}

// noise is n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

func sampleFiles() files {
	return files{
		"submission.yaml":           []byte("team: Lovelace\n"),
		"envs/a/task.md":            []byte("Do it."),
		"envs/a/tests/test.sh":      []byte("exit 0\n"),
		"envs/a/empty":              {},
		"envs/b/task.md":            []byte("Do it."), // the same body as a's
		"envs/b/data/one-piece.bin": noise(1 << 20),
		"envs/b/data/pieces.bin":    noise(2<<20 + 17),
		"envs/b/data/zeros":         make([]byte, 1<<20+1),
		"envs/ü/x y?%.txt":          []byte("odd names"),
	}
}

func TestABundleReadsAsItWasUploaded(t *testing.T) {
	ctx := context.Background()
	s, _ := storetest.Open(t)
	want := sampleFiles()
	list := want.listing()
	if err := s.SaveBundle(ctx, "tree-1", list, want.open); err != nil {
		t.Fatal(err)
	}
	fsys, got, err := s.Bundle(ctx, "tree-1")
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]protocol.TreeFile{}
	for _, f := range list {
		byPath[f.Path] = f
	}
	for i, f := range got {
		if f != byPath[f.Path] || i > 0 && f.Path <= got[i-1].Path {
			t.Errorf("entry %d is %+v, want %+v in order of path", i, f, byPath[f.Path])
		}
	}
	for path, body := range want {
		read, err := fs.ReadFile(fsys, path)
		if err != nil || !bytes.Equal(read, body) {
			t.Errorf("%s: %d bytes, %v; want %d bytes", path, len(read), err, len(body))
		}
	}
	if len(got) != len(list) {
		t.Errorf("%d entries, want %d", len(got), len(list))
	}
	info, err := fs.Stat(fsys, "envs/a/tests/test.sh")
	if err != nil || info.Mode() != 0o555 {
		t.Errorf("an executable: %v, %v", info, err)
	}
	nothing(t, s, func() {
		err := s.SaveBundle(ctx, "tree-1", list, func(string) (io.ReadCloser, error) { return nil, errors.New("read again") })
		if err != nil {
			t.Errorf("saving it again: %v", err)
		}
	})
}

func TestABundleIsAProperFileSystem(t *testing.T) {
	ctx := context.Background()
	s, _ := storetest.Open(t)
	f := files{"submission.yaml": []byte("team: Lovelace\n"), "envs/a/task.md": []byte("Do it."), "envs/a/tests/test.sh": []byte("exit 0\n"), "envs/a/empty": {}, "envs/ü/x y?%.txt": []byte("odd")}
	list := append(f.listing(), protocol.TreeFile{Path: "envs/a/link", Kind: protocol.FileSymlink, Size: 7, Blob: strings.Repeat("a", 40)},
		protocol.TreeFile{Path: "envs/sub", Kind: protocol.FileSubmodule, Blob: strings.Repeat("b", 40)})
	var paths []string
	for _, e := range list {
		paths = append(paths, e.Path)
	}
	if err := s.SaveBundle(ctx, "tree-1", list, f.open); err != nil {
		t.Fatal(err)
	}
	fsys, _, err := s.Bundle(ctx, "tree-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(fsys, append(paths, "envs", "envs/a/tests")...); err != nil {
		t.Error(err)
	}
}

func TestFilesCanBeReadAnywhere(t *testing.T) {
	ctx := context.Background()
	s, _ := storetest.Open(t)
	body := noise(3<<20 + 5)
	f := files{"big": body}
	if err := s.SaveBundle(ctx, "tree-1", f.listing(), f.open); err != nil {
		t.Fatal(err)
	}
	fsys, _, err := s.Bundle(ctx, "tree-1")
	if err != nil {
		t.Fatal(err)
	}
	file, err := fsys.Open("big")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct{ offset, n int }{{0, 10}, {1<<20 - 3, 6}, {2 << 20, 1 << 20}, {3<<20 + 4, 1}} {
		got := make([]byte, c.n)
		if _, err := file.(io.ReaderAt).ReadAt(got, int64(c.offset)); err != nil || !bytes.Equal(got, body[c.offset:c.offset+c.n]) {
			t.Errorf("ReadAt(%d bytes, %d): %v", c.n, c.offset, err)
		}
	}
	if n, err := file.(io.ReaderAt).ReadAt(make([]byte, 10), int64(len(body)-4)); n != 4 || err != io.EOF {
		t.Errorf("reading over the end: %d, %v", n, err)
	}
	if at, err := file.(io.Seeker).Seek(-5, io.SeekEnd); err != nil || at != int64(len(body)-5) {
		t.Errorf("Seek = %d, %v", at, err)
	}
	if rest, err := io.ReadAll(file); err != nil || !bytes.Equal(rest, body[len(body)-5:]) {
		t.Errorf("after seeking: %d bytes, %v", len(rest), err)
	}
	for _, name := range []string{"absent", "../big", "/big", ""} {
		if _, err := fsys.Open(name); err == nil {
			t.Errorf("Open(%q) succeeded", name)
		}
	}
}

func TestTreesThatAreRefused(t *testing.T) {
	ctx := context.Background()
	s, _ := storetest.Open(t)
	good := files{"a": []byte("body"), "dir/b": []byte("more")}
	list := func(paths ...string) (all []protocol.TreeFile) {
		for _, p := range paths {
			all = append(all, protocol.TreeFile{Path: p, Kind: protocol.FileRegular})
		}
		return all
	}
	empty := func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil }
	for _, c := range []struct {
		about string
		list  []protocol.TreeFile
		open  func(string) (io.ReadCloser, error)
		want  string
	}{
		{"a path that climbs", list("../a"), empty, "not a clean relative path"},
		{"an absolute path", list("/a"), empty, "not a clean relative path"},
		{"the root", list("."), empty, "not a clean relative path"},
		{"the same path twice", list("a", "b", "a"), empty, "occurs twice"},
		{"a file where a directory must be", list("a", "a.x", "a/b/c"), empty, "both a file and a directory"},
		{"an unknown kind", []protocol.TreeFile{{Path: "a", Kind: "pipe"}}, empty, "unknown kind"},
		{"a body that is shorter than its entry says", []protocol.TreeFile{{Path: "a", Kind: protocol.FileRegular, Size: 5}}, good.open, "read 0 of 5 bytes"},
		{"a longer one", []protocol.TreeFile{{Path: "a", Kind: protocol.FileRegular, Size: 3}}, good.open, "longer than its 3 bytes"},
		{"another one of the same size", []protocol.TreeFile{{Path: "a", Kind: protocol.FileRegular, Size: 4, Blob: strings.Repeat("0", 40)}}, good.open, "it changed while it was read"},
		{"a file that cannot be opened", list("ghost"), good.open, "file does not exist"},
		{"a file that is too large", []protocol.TreeFile{{Path: "a", Kind: protocol.FileRegular, Size: 5 << 30}}, good.open, "is the most for one file"},
	} {
		t.Run(c.about, func(t *testing.T) {
			nothing(t, s, func() {
				err := s.SaveBundle(ctx, "tree-x", c.list, c.open)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("SaveBundle = %v, want an error with %q", err, c.want)
				}
			})
			_, _, err := s.Bundle(ctx, "tree-x")
			wantError(t, err, protocol.ErrInvalidSource)
		})
	}
}

func TestArtifactsCanBeReplacedUntilTheRunEnds(t *testing.T) {
	ctx := context.Background()
	s, _, run := started(t)
	save := func(f files) error { return s.SaveArtifacts(ctx, run.ID, f.listing(), f.open) }
	read := func() string {
		t.Helper()
		fsys, list, err := s.Artifacts(ctx, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, f := range list {
			body, err := fs.ReadFile(fsys, f.Path)
			all = append(all, fmt.Sprintf("%s=%s %v", f.Path, body, err))
		}
		return strings.Join(all, "; ")
	}
	if got := read(); got != "" {
		t.Errorf("artifacts of a job that uploaded nothing: %s", got)
	}
	for _, c := range []struct {
		upload files
		want   string
	}{
		{files{"report.json": []byte("{")}, "report.json={ <nil>"},
		{files{"report.json": []byte("{}"), "jobs/x": []byte("y")}, "jobs/x=y <nil>; report.json={} <nil>"},
	} {
		if err := save(c.upload); err != nil {
			t.Fatal(err)
		}
		if got := read(); got != c.want {
			t.Errorf("artifacts are %s, want %s", got, c.want)
		}
		nothing(t, s, func() {
			if err := save(c.upload); err != nil {
				t.Errorf("saving again: %v", err)
			}
		})
	}
	must(s.Finish(ctx, arena(), run.ID, protocol.Ending{Move: protocol.MoveFailed}))(t)
	nothing(t, s, func() {
		wantError(t, save(files{"report.json": []byte("[]")}), protocol.ErrIllegalMove)
		if err := save(files{"report.json": []byte("{}"), "jobs/x": []byte("y")}); err != nil {
			t.Errorf("the same again: %v", err)
		}
	})
	_, _, err := s.Artifacts(ctx, "challenge-000000000000")
	wantError(t, err, protocol.ErrNoRun)
}

func TestAnEntryWithoutAGitIDGetsIt(t *testing.T) {
	ctx := context.Background()
	s, _, run := started(t)
	f := files{"report.json": []byte("{}")}
	list := f.listing()
	want := list[0].Blob
	list[0].Blob = ""
	if err := s.SaveArtifacts(ctx, run.ID, list, f.open); err != nil {
		t.Fatal(err)
	}
	_, got, err := s.Artifacts(ctx, run.ID)
	if err != nil || len(got) != 1 || got[0].Blob != want {
		t.Errorf("stored %+v, %v; want git blob %s", got, err, want)
	}
	if diff := cmp.Diff("", list[0].Blob); diff != "" {
		t.Error("the caller's list was changed")
	}
}

func BenchmarkSaveBundle(b *testing.B) {
	s, _ := storetest.Open(b)
	f := files{}
	for i := range 200 {
		f[fmt.Sprintf("envs/t%03d/task.md", i)] = fmt.Appendf(nil, "%d %s", i, strings.Repeat("prompt ", 500))
	}
	list := f.listing()
	for n := 0; b.Loop(); n++ {
		if err := s.SaveBundle(context.Background(), fmt.Sprint(n), list, f.open); err != nil {
			b.Fatal(err)
		}
	}
}
