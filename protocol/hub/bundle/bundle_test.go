package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

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
		"file as parent": {pack(t, file("a", 1), file("a/b", 1)), "a"},
		"link as parent": {pack(t, tar.Header{Name: "out", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}, file("out/evil", 1)), "out"},
		"inner link":     {pack(t, file("d/x", 1), tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "d"}, file("l/y", 1)), "l"},
		"device":         {pack(t, tar.Header{Name: "null", Typeflag: tar.TypeChar}), "neither a file"},
		"hard link":      {pack(t, file("a", 1), tar.Header{Name: "b", Typeflag: tar.TypeLink, Linkname: "a"}), "neither a file"},
		"too large":      {pack(t, file("a", 60), file("b", 60)), "add up"},
		"gzip bomb":      {bomb.Bytes(), "add up"},
		"too many":       {pack(t, many...), "entries"},
		"too deep":       {pack(t, file("a/b/c/d/e/f", 1)), "deep"},
		"empty":          {pack(t), "no files"},
		"cut off":        {whole[:540], "cut off"},
		"not a tar":      {[]byte(strings.Repeat("hello ", 200)), "damaged"},
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

// FuzzReceive: any bytes end in a snapshot or a refusal, and never outside the
// directory.
func FuzzReceive(f *testing.F) {
	f.Add(pack(f, file("a/b", 3), file("c", 0)))
	f.Add(pack(f, file("../x", 1)))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	limits := task.DefaultLimits()
	limits.MaxFiles, limits.MaxTotalBytes = 50, 1<<16
	f.Fuzz(func(t *testing.T, stream []byte) {
		dir := t.TempDir()
		s, err := bundle.Receiver{Dir: dir, Limits: limits}.Receive(t.Context(), bytes.NewReader(stream))
		if err == nil {
			if len(s.Entries) == 0 || !protocol.IsCommit(s.Commit) {
				t.Errorf("a snapshot of nothing: %+v", s)
			}
			if err := s.Release(); err != nil {
				t.Error(err)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}
