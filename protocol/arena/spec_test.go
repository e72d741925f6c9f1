package arena_test

import (
	"context"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/bundle"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// mirroring is a provider that writes down which files it is to copy.
type mirroring struct {
	jobs.Provider
	paths []string
}

func (m *mirroring) Mirror(_ context.Context, _ string, source protocol.Source, paths []string, _ fs.FS) (protocol.Source, error) {
	m.paths = paths
	return source, nil
}

// TestMirrorCopiesExecutables launches a collection whose scripts may be executed:
// a job that reads a copy gets them like every other file.
func TestMirrorCopiesExecutables(t *testing.T) {
	t.Parallel()
	m := &mirroring{}
	w := newWorld(t, func(o *options) {
		o.wrap = func(p jobs.Provider) jobs.Provider {
			m.Provider = p
			return m
		}
	})
	files := fstest.MapFS{}
	sample := must(fixture.Collection("sample"))(t)
	var want []string
	must0(t, fs.WalkDir(sample, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sample, name)
		files[name], want = &fstest.MapFile{Data: data, Mode: 0o755}, append(want, name)
		return err
	}))
	col, _, err := w.Submit(t.Context(), ada, by(ada), bundled(must(bundle.Snapshot(files, task.DefaultLimits()))(t)))
	must0(t, err)
	if _, _, err := w.launch(ada, "request-001", col); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(want); !slices.Equal(m.paths, want) {
		t.Errorf("copied for the job: %q, want %q", m.paths, want)
	}
}
