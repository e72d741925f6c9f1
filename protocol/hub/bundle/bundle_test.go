package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/hub/bundle"
)

// pack makes a tar stream of headers; regular files get a body of their size.
func pack(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		body := []byte(nil)
		if h.Typeflag == tar.TypeReg {
			body = bytes.Repeat([]byte("x"), int(h.Size))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name string, size int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Size: size, Format: tar.FormatPAX}
}

func receive(t testing.TB, limits task.Limits, stream []byte) (*hub.Snapshot, string, error) {
	t.Helper()
	dir := t.TempDir()
	s, err := bundle.Receiver{Dir: dir, Limits: limits}.Receive(t.Context(), bytes.NewReader(stream))
	return s, dir, err
}

// TestReceive: the snapshot lists what was sent, opens files, and removes its
// directory when it is released.
func TestReceive(t *testing.T) {
	stream := pack(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir},
		file("./submission.yaml", 3),
		file(".git/config", 5),
		tar.Header{Name: "envs/a/run.sh", Typeflag: tar.TypeReg, Size: 2, Mode: 0o755},
		tar.Header{Name: "envs/a/link", Typeflag: tar.TypeSymlink, Linkname: "run.sh"},
	)
	s, dir, err := receive(t, task.DefaultLimits(), stream)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range s.Entries {
		list = append(list, fmt.Sprintf("%s %s %d", e.Kind, e.Path, e.Size))
	}
	if got, want := strings.Join(list, ", "), "symlink envs/a/link 6, executable envs/a/run.sh 2, file submission.yaml 3"; got != want {
		t.Errorf("listing: %s\nwant: %s", got, want)
	}
	if b, err := fs.ReadFile(s.Files, "submission.yaml"); err != nil || string(b) != "xxx" {
		t.Errorf("read: %q, %v", b, err)
	}
	for name, want := range map[string]string{"submission.yaml": "-r--r--r-- 3", "envs/a/run.sh": "-r--r--r-- 2"} {
		f, err := s.Files.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil || fmt.Sprint(info.Mode(), info.Size()) != want || info.Name() != path.Base(name) || info.IsDir() {
			t.Errorf("%s is %v, %v; want %s", name, info, err, want)
		}
		if err := iotest.TestReader(f, bytes.Repeat([]byte("x"), int(info.Size()))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"envs/a/link", ".git/config", "../submission.yaml", "/etc/passwd", "none"} {
		if _, err := s.Files.Open(name); err == nil {
			t.Errorf("%s opens", name)
		}
	}
	held, err := os.ReadDir(dir)
	if err != nil || len(held) != 1 {
		t.Fatalf("held on the disk: %v, %v", held, err)
	}
	if info, err := held[0].Info(); err != nil || info.Mode() != 0o600 {
		t.Errorf("held on the disk: %v, %v; want one file of the arena's user alone", info, err)
	}
	if err := errors.Join(s.Release(), s.Release()); err != nil {
		t.Errorf("release: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSameContentSamePin: order, directories, gzip and times do not matter; the
// executable bit does, as it does to git.
func TestSameContentSamePin(t *testing.T) {
	pin := func(stream []byte) string {
		s, _, err := receive(t, task.DefaultLimits(), stream)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Release()
		return s.Commit
	}
	plain := pack(t, file("a", 1), file("b/c", 2))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(pack(t, tar.Header{Name: "b", Typeflag: tar.TypeDir}, file("b/c", 2), file("a", 1))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if a, b := pin(plain), pin(zipped.Bytes()); a != b || !protocol.IsCommit(a) {
		t.Errorf("%s and %s", a, b)
	}
	if a, b := pin(plain), pin(pack(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: 1, Mode: 0o755}, file("b/c", 2))); a == b {
		t.Error("the executable bit does not count")
	}
}

// TestRefusals: what is wrong is named, and nothing of it stays on the disk.
func TestRefusals(t *testing.T) {
	limits := task.DefaultLimits()
	limits.MaxFiles, limits.MaxTotalBytes, limits.MaxDepth = 5, 100, 4
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(pack(t, file("zeros", 1<<20))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	many := make([]tar.Header, 0, 20)
	for i := range 20 {
		many = append(many, file(fmt.Sprintf("f%d", i), 0))
	}
	whole := pack(t, file("a", 50))
	endless := func(before ...tar.Header) []byte {
		b := bytes.NewBuffer(pack(t, before...))
		b.Truncate(b.Len() - 1024) // without the end of the archive
		h := file("endless", math.MaxInt64)
		if err := tar.NewWriter(b).WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	link := func(name, target string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
	}
	directory := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir} }
	for name, tc := range map[string]struct {
		stream []byte
		say    string
	}{
		"parent":         {pack(t, file("../evil", 1)), "leaves the directory"},
		"inner parent":   {pack(t, file("a/../../evil", 1)), "leaves the directory"},
		"absolute":       {pack(t, file("/etc/passwd", 1)), "absolute"},
		"not UTF-8":      {pack(t, tar.Header{Name: "caf\xe9", Typeflag: tar.TypeReg, Format: tar.FormatGNU}), "not UTF-8"},
		"case twins":     {pack(t, file("Task", 1), file("task", 1)), "Task"},
		"twice":          {pack(t, file("a", 1), file("a", 1)), "twice"},
		"file as parent": {pack(t, file("a", 1), file("a/b", 1)), `"a" stands twice, or is both`},
		"parent as file": {pack(t, file("a/b", 1), file("a", 1)), `"a" stands twice, or is both`},
		"file as dir":    {pack(t, file("a", 1), directory("a/")), `"a" stands twice, or is both`},
		"dir as link":    {pack(t, directory("a/"), link("a", "b")), `"a" stands twice, or is both`},
		"link twice":     {pack(t, link("a", "b"), link("a", "b")), `"a" stands twice`},
		"link as parent": {pack(t, link("out", "/tmp"), file("out/evil", 1)), `"out" stands twice, or is both`},
		"inner link":     {pack(t, file("d/x", 1), link("l", "d"), file("l/y", 1)), `"l" stands twice, or is both`},
		"link to a dir":  {pack(t, file("d/x", 1), link("l", "d"), directory("l/")), `"l" stands twice, or is both`},
		"link to no end": {pack(t, link("l", strings.Repeat("a", 4096))), `"l" points to nothing, or to a path of 4096 bytes or more`},
		"link to naught": {pack(t, link("l", "")), `"l" points to nothing`},
		"control":        {pack(t, file("a\nb", 1)), `"a\nb" contains a control character`},
		"control in dir": {pack(t, file("a", 1), directory("a\rb/")), `"a\rb" contains a control character`},
		"long path":      {pack(t, file(strings.Repeat("./", 2100)+"a", 1)), "longer than 4096 bytes"},
		"long name":      {pack(t, file(strings.Repeat("n", 256), 1)), "a name of more than 255 bytes"},
		"device":         {pack(t, tar.Header{Name: "null", Typeflag: tar.TypeChar}), "neither a file"},
		"hard link":      {pack(t, file("a", 1), tar.Header{Name: "b", Typeflag: tar.TypeLink, Linkname: "a"}), "neither a file"},
		"too large":      {pack(t, file("a", 60), file("b", 60)), "add up"},
		"too many links": {pack(t, file("a", 60), link("b", strings.Repeat("c", 60))), "add up"},
		"endless":        {endless(), "add up"},
		"a sum too far":  {endless(file("a", 1)), "add up"},
		"gzip bomb":      {bomb.Bytes(), "add up"},
		"too many":       {pack(t, many...), "entries"},
		"too many files": {pack(t, many[:6]...), "6 files, at most 5"},
		"too many dirs":  {pack(t, file("a/b/c/d", 1), directory("e"), directory("f")), "5 directories or more"},
		"too deep":       {pack(t, file("a/b/c/d/e/f", 1)), "deep"},
		"too deep a dir": {pack(t, file("a", 1), directory("a/b/c/d/e")), "deep"},
		"empty":          {pack(t), "no files"},
		"cut off":        {whole[:540], "cut off"},
		"not a tar":      {[]byte(strings.Repeat("hello ", 200)), "damaged"},
		"corrupt gzip":   {append(bomb.Bytes()[:10:10], 0xff, 0xff), "cut off"},
		"broken gzip":    {append([]byte{0x1f, 0x8b}, make([]byte, 20)...), "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir, err := receive(t, limits, tc.stream)
			if !errors.Is(err, protocol.ErrInvalidSource) {
				t.Fatalf("got %v, %v; want a refusal", s, err)
			}
			if detail := protocol.AsError(err).Detail; !strings.Contains(detail, tc.say) {
				t.Errorf("the refusal says %q, not %q", detail, tc.say)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// unpacked reads a stream as if tar had unpacked it into a directory: what Receive
// must agree with. It fails where the file system does.
func unpacked(t testing.TB, limits task.Limits, stream []byte) (*hub.Snapshot, error) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	var mkdir func(name string) error
	mkdir = func(name string) error {
		if name == "." {
			return nil
		}
		if err := mkdir(path.Dir(name)); err != nil {
			return err
		}
		err := root.Mkdir(name, 0o700)
		if info, statErr := root.Lstat(name); statErr == nil && info.IsDir() {
			return nil // a link to a directory is none
		}
		return err
	}
	var r io.Reader = bytes.NewReader(stream)
	if bytes.HasPrefix(stream, []byte{0x1f, 0x8b}) {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, err
		}
	}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return bundle.Snapshot(root.FS(), limits)
		}
		if err != nil {
			return nil, err
		}
		name := path.Clean(h.Name)
		if h.Typeflag == tar.TypeXGlobalHeader || name == "." || name == ".git" || strings.HasPrefix(name, ".git/") {
			continue
		}
		if err := mkdir(path.Dir(name)); err != nil {
			return nil, err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = mkdir(name)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, name)
		default:
			var f *os.File
			if f, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|fs.FileMode(h.Mode&0o100)); err == nil {
				_, err = io.Copy(f, archive)
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// same compares what was received with what a directory of the same stream holds.
func same(t testing.TB, got, want *hub.Snapshot) {
	t.Helper()
	if diff := cmp.Diff(want.Entries, got.Entries); diff != "" || got.Commit != want.Commit {
		t.Errorf("commit %s, want %s; listing (-directory +received):\n%s", got.Commit, want.Commit, diff)
	}
	for _, e := range got.Entries {
		a, errA := fs.ReadFile(got.Files, e.Path)
		b, errB := fs.ReadFile(want.Files, e.Path)
		if !bytes.Equal(a, b) || (errA == nil) != (errB == nil) {
			t.Errorf("%s: %d bytes, %v; in a directory %d bytes, %v", e.Path, len(a), errA, len(b), errB)
		}
	}
}

// TestAsADirectory: a stream gives what a directory with the same files gives, and
// is refused where no such directory can be.
func TestAsADirectory(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261130, 3))
	parts := []string{"a", "A", "b", "b.c", "b-c", "é", "e\u0301", ".git", "x\ny", ".", "z z"}
	limits := task.DefaultLimits()
	limits.MaxDepth = 4
	taken, refused := 0, 0
	for range 400 {
		var headers []tar.Header
		for range 1 + rng.IntN(5) {
			var names []string
			for range 1 + rng.IntN(5) {
				names = append(names, parts[rng.IntN(len(parts))])
			}
			h := tar.Header{Name: strings.Join(names, "/"), Typeflag: tar.TypeReg, Mode: 0o644, Size: rng.Int64N(200_000), Format: tar.FormatPAX}
			switch rng.IntN(8) {
			case 0:
				h.Typeflag, h.Size = tar.TypeDir, 0
			case 1:
				h.Typeflag, h.Size, h.Linkname = tar.TypeSymlink, 0, parts[rng.IntN(len(parts))]
			case 2:
				h.Mode = 0o755
			case 3:
				h.Size = 0
			}
			headers = append(headers, h)
		}
		stream := pack(t, headers...)
		want, wantErr := unpacked(t, limits, stream)
		got, _, err := receive(t, limits, stream)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%v: received: %v; in a directory: %v", headers, err, wantErr)
		}
		if err != nil || wantErr != nil {
			refused++
			continue
		}
		taken++
		same(t, got, want)
		if err := got.Release(); err != nil {
			t.Error(err)
		}
	}
	if taken < 50 || refused < 50 {
		t.Errorf("%d streams were taken and %d refused: too few to say much", taken, refused)
	}
}

// FuzzReceive: any bytes end in a refusal, or in the snapshot that a directory of
// the same files gives.
func FuzzReceive(f *testing.F) {
	f.Add(pack(f, file("a/b", 3), file("c", 0)))
	f.Add(pack(f, file("../x", 1)))
	f.Add(pack(f, file("d/x", 1), tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "d"}, file(".git/y", 700)))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	limits := task.DefaultLimits()
	limits.MaxFiles, limits.MaxTotalBytes = 50, 1<<16
	f.Fuzz(func(t *testing.T, stream []byte) {
		s, dir, err := receive(t, limits, stream)
		if err == nil {
			want, err := unpacked(t, limits, stream)
			if err != nil {
				t.Fatalf("received, but no directory: %v", err)
			}
			same(t, s, want)
			if err := s.Release(); err != nil {
				t.Error(err)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// BenchmarkReceive receives the sample collection, about a hundred files.
func BenchmarkReceive(b *testing.B) {
	files, err := fixture.Collection("sample")
	if err != nil {
		b.Fatal(err)
	}
	var stream bytes.Buffer
	w := tar.NewWriter(&stream)
	if err := errors.Join(w.AddFS(files), w.Close()); err != nil {
		b.Fatal(err)
	}
	r := bundle.Receiver{Dir: b.TempDir(), Limits: task.DefaultLimits()}
	b.SetBytes(int64(stream.Len()))
	b.ReportAllocs()
	for b.Loop() {
		s, err := r.Receive(b.Context(), bytes.NewReader(stream.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Release(); err != nil {
			b.Fatal(err)
		}
	}
}
