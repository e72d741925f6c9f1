package jobdir_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobdir"
)

// TestFill shows what a command finds, and who may read it.
func TestFill(t *testing.T) {
	dir := t.TempDir()
	err := jobdir.Fill(dir, jobs.Spec{
		Config: []byte("config"), Files: map[string][]byte{"task-lists/eval_dataset.txt": []byte("sealed-001\n")},
		Collection: fstest.MapFS{
			"envs/tidy/test.sh":   {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
			"envs/tidy/task.md":   {Data: []byte("# Tidy\n"), Mode: 0o644},
			"envs/tidy/elsewhere": {Data: []byte("/etc/passwd"), Mode: os.ModeSymlink | 0o777},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{
		"run": os.ModeDir | 0o700, "output": os.ModeDir | 0o700, "run/config.toml": 0o600, "run/task-lists/eval_dataset.txt": 0o600,
		"run/collection/envs/tidy/test.sh": 0o700, "run/collection/envs/tidy/task.md": 0o600,
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v; want mode %v", name, info, err, mode)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "run/collection/envs/tidy/elsewhere")); err == nil {
		t.Error("a link was copied")
	}
}

// TestFillStaysInside: no name of a file leads out of the job's directory.
func TestFillStaysInside(t *testing.T) {
	for _, name := range []string{"../out", "/etc/out", "a/../../out", ""} {
		if err := jobdir.Fill(t.TempDir(), jobs.Spec{Files: map[string][]byte{name: nil}}); err == nil {
			t.Errorf("%q was written", name)
		}
	}
}

// TestWriteSecrets: a secret is a file of its own that nobody else may read, replaced
// as a whole, and its name leads nowhere else.
func TestWriteSecrets(t *testing.T) {
	dir := t.TempDir()
	for _, value := range []string{"first", "2nd"} {
		if err := jobdir.WriteSecrets(dir, map[string]string{"KEY": value, "OTHER": "x"}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "secrets", "KEY"))
		if err != nil || string(text) != value {
			t.Errorf("%q, %v; want %q", text, err, value)
		}
	}
	for name, mode := range map[string]os.FileMode{"secrets": os.ModeDir | 0o700, "secrets/KEY": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v; want mode %v", name, info, err, mode)
		}
	}
	if err := jobdir.WriteSecrets(dir, map[string]string{"../KEY": "x"}); err == nil {
		t.Error("a name leads out of the directory")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
