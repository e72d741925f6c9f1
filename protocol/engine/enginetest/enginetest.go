// Package enginetest lends tests the container engine of this machine and a tiny
// base image, and takes away whatever a test made.
package enginetest

import (
	"context"
	"debug/elf"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/engine"
)

// Label is the key of the label that everything made by a test carries. Its value
// is the test's own; see Labels.
const Label = "org.posttrainarena.test"

// Open opens the engine of this machine, or skips the test with the reason why
// there is none. Call it in the test, not in a subtest: what both made is removed
// when the test that called it ends.
func Open(t testing.TB) *engine.Engine {
	t.Helper()
	if testing.Short() {
		t.Skip("containers are not for -short")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := engine.Open(ctx, os.Getenv("DOCKER_HOST"))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		clean(t, e)
		_ = e.Close() // connections only
	})
	return e
}

// Labels mark what the test and its subtests make: Open's cleanup removes it,
// containers first.
func Labels(t testing.TB) map[string]string {
	test, _, _ := strings.Cut(t.Name(), "/")
	return map[string]string{Label: strconv.Itoa(os.Getpid()) + "-" + test}
}

func clean(t testing.TB, e *engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for key, value := range Labels(t) {
		if err := e.Clean(ctx, key+"="+value); err != nil {
			t.Errorf("clean up: %v", err)
		}
	}
}

// Busybox builds an image that holds nothing but a static busybox with its
// applets in /bin, /tmp and the two files that name users, and returns its id. It
// skips the test where the distribution's static busybox is not installed.
func Busybox(t testing.TB, e *engine.Engine) string {
	t.Helper()
	Static(t, "/bin/busybox", "the base image is made of a static busybox (Debian: apt-get install busybox-static)")
	binary, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Tar(
		engine.File{Name: "Dockerfile", Data: []byte("FROM scratch\nCOPY root/ /\nRUN [\"/bin/busybox\", \"--install\", \"-s\", \"/bin\"]\nENV PATH=/bin:/usr/bin:/sbin:/usr/sbin\n")},
		engine.File{Name: "root/bin/busybox", Data: binary, Mode: 0o755},
		engine.File{Name: "root/etc/passwd", Data: []byte("root:x:0:0::/root:/bin/sh\nagent:x:2000:2000::/home/agent:/bin/sh\n")},
		engine.File{Name: "root/etc/group", Data: []byte("root:x:0:\nagent:x:2000:\n")},
		engine.File{Name: "root/root/", Mode: 0o700},
		engine.File{Name: "root/tmp/", Mode: 0o777},
	)
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Build(t.Context(), engine.BuildSpec{Context: files, Labels: Labels(t), NoNetwork: true, Timeout: time.Minute})
	if err != nil {
		t.Fatalf("the base image: %v", err)
	}
	return id
}

// Static skips the test, with the reason why the binary is wanted, unless it is
// there and needs no library: nothing else runs in an image that holds nothing.
func Static(t testing.TB, binary, why string) {
	t.Helper()
	x, err := elf.Open(binary)
	if err != nil {
		t.Skipf("%s: %v", why, err)
	}
	defer x.Close()
	for _, p := range x.Progs {
		if p.Type == elf.PT_INTERP {
			t.Skipf("%s: %s is not static", why, binary)
		}
	}
}
