package hubtest_test

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/hub/bundle"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
	"github.com/posttrainarena/arena/protocol/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// TestBundleConforms: an uploaded directory is a source like the others, which
// have the same test beside them.
func TestBundleConforms(t *testing.T) {
	hubtest.Conform(t, hubtest.Place{
		Modes: true, Whole: true,
		Serve: func(t *testing.T, files []hubtest.File) func(context.Context, string) (*hub.Snapshot, error) {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for _, f := range files {
				h := tar.Header{Name: f.Path, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f.Text)), Format: tar.FormatPAX}
				switch f.Mode {
				case "100755":
					h.Mode = 0o755
				case "120000":
					h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, f.Text, 0
				}
				if err := w.WriteHeader(&h); err != nil {
					t.Fatal(err)
				}
				if h.Size > 0 {
					if _, err := w.Write([]byte(f.Text)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return func(ctx context.Context, _ string) (*hub.Snapshot, error) {
				return bundle.Receiver{Dir: t.TempDir(), Limits: task.DefaultLimits()}.Receive(ctx, bytes.NewReader(b.Bytes()))
			}
		},
	})
}
