package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
)

func countRows(t *testing.T, s *Store, table string) (n int) {
	t.Helper()
	if err := s.writer.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestABodyIsStoredOnce(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	big := make([]byte, 10<<20) // two batches, so that its end is known after its start was written
	rand.NewChaCha8([32]byte{2}).Read(big)
	bodies := map[string][]byte{"a": []byte("same"), "b": []byte("same"), "big-1": big, "big-2": big, "c": []byte("other")}
	var list []protocol.TreeFile
	for path, body := range bodies {
		list = append(list, protocol.TreeFile{Path: path, Kind: protocol.FileRegular, Size: int64(len(body))})
	}
	open := func(path string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(bodies[path])), nil }
	for _, tree := range []string{"one", "two"} {
		if err := s.SaveBundle(ctx, tree, list, open); err != nil {
			t.Fatal(err)
		}
		if blobs, pieces := countRows(t, s, "blobs"), countRows(t, s, "blob_chunks"); blobs != 3 || pieces != 12 {
			t.Errorf("after %s: %d blobs in %d pieces, want 3 in 12", tree, blobs, pieces)
		}
		fsys, _, err := s.Bundle(ctx, tree)
		if err != nil {
			t.Fatal(err)
		}
		for path, body := range bodies {
			f, err := fsys.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%s/%s: %d bytes, %v; want %d", tree, path, len(got), err, len(body))
			}
		}
	}
}

func TestWhatAnInterruptedUploadLeftIsSweptAtTheNextStart(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	kept := []protocol.TreeFile{{Path: "kept", Kind: protocol.FileRegular, Size: 4}}
	if err := s.SaveBundle(ctx, "whole", kept, func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("kept")), nil }); err != nil {
		t.Fatal(err)
	}
	// A body that breaks off after more than one batch.
	broken := errors.New("connection reset")
	list := []protocol.TreeFile{{Path: "a", Kind: protocol.FileRegular, Size: 4}, {Path: "b", Kind: protocol.FileRegular, Size: 1 << 30}}
	err := s.SaveBundle(ctx, "broken", list, func(path string) (io.ReadCloser, error) {
		if path == "a" {
			return io.NopCloser(strings.NewReader("lost")), nil
		}
		noise := io.LimitReader(rand.NewChaCha8([32]byte{3}), 12<<20)
		return io.NopCloser(io.MultiReader(noise, failingReader{broken})), nil
	})
	if !errors.Is(err, broken) {
		t.Fatalf("SaveBundle = %v", err)
	}
	if n := countRows(t, s, "blobs"); n != 3 {
		t.Fatalf("%d blobs before the restart, want the kept one and two leftovers", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, func(o *Options) { o.Dir = s.Dir() })
	if blobs, pieces := countRows(t, again, "blobs"), countRows(t, again, "blob_chunks"); blobs != 1 || pieces != 1 {
		t.Errorf("%d blobs in %d pieces after the restart, want 1 in 1", blobs, pieces)
	}
	if _, _, err := again.Bundle(ctx, "whole"); err != nil {
		t.Error(err)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestADamagedPieceIsAnError(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	list := []protocol.TreeFile{{Path: "a", Kind: protocol.FileRegular, Size: 9}}
	if err := s.SaveBundle(ctx, "tree", list, func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("some body")), nil }); err != nil {
		t.Fatal(err)
	}
	for about, damage := range map[string]string{
		"not compressed data": "UPDATE blob_chunks SET body = x'00'",
		"missing":             "DELETE FROM blob_chunks",
	} {
		if _, err := s.writer.Exec(damage); err != nil {
			t.Fatal(err)
		}
		fsys, _, err := s.Bundle(ctx, "tree")
		if err != nil {
			t.Fatal(err)
		}
		f, err := fsys.Open("a")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(f); err == nil {
			t.Errorf("%s: read %q", about, got)
		}
	}
}
