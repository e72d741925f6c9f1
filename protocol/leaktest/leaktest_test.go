package leaktest

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestWhatIsLeftIsNamed opens a file and a socket and looks for them.
func TestWhatIsLeftIsNamed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors are listed on Linux only")
	}
	before := descriptors()
	if left := beyond(descriptors(), before); len(left) != 0 {
		t.Fatalf("with nothing opened: %q", left)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "left-open"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	left := strings.Join(beyond(descriptors(), before), "\n")
	if !strings.Contains(left, "left-open") || !strings.Contains(left, "socket:") {
		t.Errorf("a file and a socket: %s", left)
	}
	f.Close()
	l.Close()
	if left := beyond(descriptors(), before); len(left) != 0 {
		t.Errorf("closed again: %q", left)
	}
}
