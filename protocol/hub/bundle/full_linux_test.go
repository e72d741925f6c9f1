package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
)

// TestFullDisk: an upload that the disk has no room for is not the sender's fault,
// whether the disk is full before its end or at the last of its bytes.
func TestFullDisk(t *testing.T) {
	for name, size := range map[string]int{"on the way": 1 << 20, "at the end": 1} {
		t.Run(name, func(t *testing.T) {
			var stream bytes.Buffer
			w := tar.NewWriter(&stream)
			err := w.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(size)})
			_, writeErr := w.Write(make([]byte, size))
			if err := errors.Join(err, writeErr, w.Close()); err != nil {
				t.Fatal(err)
			}
			full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			if s, err := (Receiver{Limits: task.DefaultLimits()}).read(t.Context(), full, &stream); !errors.Is(err, protocol.ErrDiskFull) {
				t.Errorf("%v, %v; want %v", s, err, protocol.ErrDiskFull)
			}
		})
	}
}
