package engine_test

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/engine"
	"github.com/posttrainarena/arena/protocol/engine/enginetest"
)

// build builds a Dockerfile on top of the busybox image and returns what came of
// it, with the lines of its log.
func build(t *testing.T, e *engine.Engine, spec engine.BuildSpec, dockerfile string) (string, []string, error) {
	t.Helper()
	files, err := engine.Tar(engine.File{Name: "Dockerfile", Data: []byte(dockerfile)})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	spec.Context, spec.Labels, spec.Progress = files, enginetest.Labels(t), func(l string) { lines = append(lines, l) }
	id, err := e.Build(t.Context(), spec)
	return id, lines, err
}

// run starts a container of image and leaves it running.
func run(t *testing.T, e *engine.Engine, spec engine.Spec) string {
	t.Helper()
	spec.Labels = enginetest.Labels(t)
	id, err := e.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestContainerFromBuildToRemoval(t *testing.T) {
	e := enginetest.Open(t)
	base := enginetest.Busybox(t, e)
	id, lines, err := build(t, e, engine.BuildSpec{NoNetwork: true, Timeout: time.Minute, Args: map[string]string{"word": "salt"}},
		"FROM "+base+"\nARG word\nRUN echo built with $word && mkdir /app && echo $word > /app/word\nWORKDIR /app\n")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(lines, "\n"), "built with salt") {
		t.Errorf("the build's progress lacks what its step printed: %q", lines)
	}
	image, err := e.Inspect(t.Context(), id)
	if err != nil || image.Dir != "/app" || image.Labels[enginetest.Label] == "" {
		t.Errorf("image %+v, %v", image, err)
	}

	c := run(t, e, engine.Spec{Image: id, Command: []string{"sh", "-c", "echo to out; echo to err >&2; until test -e /app/go; do sleep 0.1; done; exit 7"}, Memory: 256 << 20, CPUs: 1, Pids: 64, Init: true})
	code, out, err := e.Exec(t.Context(), c, engine.Command{Args: []string{"sh", "-c", "id -u; pwd; cat; echo $X >&2; exit 3"}, User: "2000", Env: []string{"X=pepper"}, Stdin: strings.NewReader("typed")})
	if err != nil || code != 3 || string(out.Stdout) != "2000\n/app\ntyped" || string(out.Stderr) != "pepper\n" {
		t.Errorf("exec: code %d, %q, %q, %v", code, out.Stdout, out.Stderr, err)
	}
	code, out, err = e.Exec(t.Context(), c, engine.Command{Args: []string{"sh", "-c", "seq 1 1000"}, Limit: 10})
	if err != nil || code != 0 || string(out.Stdout) != "1\n2\n3\n4\n5\n" || out.Lost != 3893-10 {
		t.Errorf("exec with a limit: code %d, %q, %d lost, %v", code, out.Stdout, out.Lost, err)
	}
	// No network but loopback.
	code, out, err = e.Exec(t.Context(), c, engine.Command{Args: []string{"sh", "-c", "ls /sys/class/net"}})
	if err != nil || code != 0 || strings.TrimSpace(string(out.Stdout)) != "lo" {
		t.Errorf("interfaces: %q, code %d, %v", out.Stdout, code, err)
	}

	files, err := engine.Tar(engine.File{Name: "go", Data: []byte("!")}, engine.File{Name: "deep/"}, engine.File{Name: "deep/er/"}, engine.File{Name: "deep/er/file", Data: []byte("down here")})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Stats(t.Context(), c)
	if err != nil || s.Memory <= 0 {
		t.Errorf("stats while it runs: %+v, %v", s, err)
	}
	if err := e.CopyTo(t.Context(), c, "/app", files); err != nil {
		t.Fatal(err)
	}
	exit, err := e.Wait(t.Context(), c)
	if err != nil || exit.Code != 7 || exit.OutOfMem || exit.EndedAt.Before(exit.StartedAt) {
		t.Errorf("exit %+v, %v", exit, err)
	}
	logs, err := e.Logs(t.Context(), c, 0)
	if err != nil || string(logs.Stdout) != "to out\n" || string(logs.Stderr) != "to err\n" {
		t.Errorf("logs %q, %q, %v", logs.Stdout, logs.Stderr, err)
	}
	if s, err = e.Stats(t.Context(), c); err != nil || s.WritableBytes < int64(len("!down here")) {
		t.Errorf("stats after its end: %+v, %v", s, err)
	}
	if got := copied(t, e, c, "/app/deep"); got["deep/er/file"] != "down here" {
		t.Errorf("copied back: %v", got)
	}
	if _, err := e.CopyFrom(t.Context(), c, "/app/left", 100); !errors.Is(err, engine.ErrMissing) {
		t.Errorf("a path that is not there: %v", err)
	}
	r, err := e.CopyFrom(t.Context(), c, "/app/deep", 20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r); err == nil || !strings.Contains(err.Error(), "larger than allowed") {
		t.Errorf("more than the limit: %v", err)
	}
	r.Close()

	label := enginetest.Label + "=" + enginetest.Labels(t)[enginetest.Label]
	list, err := e.Containers(t.Context(), label)
	if err != nil || len(list) != 1 || list[0].ID != c || list[0].State != "exited" {
		t.Errorf("list %+v, %v", list, err)
	}
	if err := e.Clean(t.Context(), label); err != nil {
		t.Fatal(err)
	}
	list, err = e.Containers(t.Context(), label)
	images, err2 := e.Images(t.Context(), label)
	if err := errors.Join(err, err2); err != nil || len(list)+len(images) != 0 {
		t.Errorf("left after Clean: %+v, %+v, %v", list, images, err)
	}
	if err := errors.Join(e.Remove(t.Context(), c), e.RemoveImage(t.Context(), id)); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}

// copied reads the regular files of a container's directory.
func copied(t *testing.T, e *engine.Engine, id, path string) map[string]string {
	t.Helper()
	r, err := e.CopyFrom(t.Context(), id, path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := map[string]string{}
	for files := tar.NewReader(r); ; {
		h, err := files.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			b, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			all[h.Name] = string(b)
		}
	}
}

func TestBuildsThatFail(t *testing.T) {
	e := enginetest.Open(t)
	base := enginetest.Busybox(t, e)
	tests := []struct {
		name, dockerfile string
		spec             engine.BuildSpec
		code             int
		timedOut         bool
		message, log     string
	}{
		{name: "a step fails", dockerfile: "FROM " + base + "\nRUN echo before; exit 5\n", code: 5, message: "non-zero code: 5", log: "before"},
		{name: "a file is not there", dockerfile: "FROM " + base + "\nCOPY nothing /\n", message: "nothing"},
		{name: "no Dockerfile at all", dockerfile: "FROM " + base, spec: engine.BuildSpec{Dockerfile: "Other"}, message: "Other"},
		{name: "a word that is none", dockerfile: "FORM scratch\n", message: "FORM"},
		{name: "it takes too long", dockerfile: "FROM " + base + "\nRUN echo slow; sleep 600\n", spec: engine.BuildSpec{Timeout: 4 * time.Second}, timedOut: true, message: "within 4s", log: "slow"},
		{name: "it needs a network", dockerfile: "FROM " + base + "\nRUN ping -c 1 -W 1 192.0.2.1\n", spec: engine.BuildSpec{NoNetwork: true}, code: 1, message: "ping"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := build(t, e, tt.spec, tt.dockerfile)
			failed, ok := errors.AsType[*engine.BuildError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if failed.Code != tt.code || failed.TimedOut != tt.timedOut || !strings.Contains(failed.Message, tt.message) || !strings.Contains(failed.Log, tt.log) {
				t.Errorf("got %+v", failed)
			}
		})
	}
}

// An image goes with the steps of its build, and nothing else: not the nameless
// image below it, not a step that another image stands on, and not an image
// whose id a step printed as if it had made it.
func TestRemovingAnImageKeepsItsBase(t *testing.T) {
	e := enginetest.Open(t)
	root := enginetest.Busybox(t, e)
	there := func(id string) bool {
		_, err := e.Inspect(t.Context(), id)
		if err != nil && !errors.Is(err, engine.ErrMissing) {
			t.Fatal(err)
		}
		return err == nil
	}
	made := func(dockerfile string) (string, []string) {
		t.Helper()
		id, lines, err := build(t, e, engine.BuildSpec{NoNetwork: true, Timeout: time.Minute}, dockerfile)
		if err != nil {
			t.Fatal(err)
		}
		var steps []string
		for _, l := range lines {
			if id, ok := strings.CutPrefix(l, " ---> "); ok && len(id) == 12 {
				steps = append(steps, id)
			}
		}
		return id, steps
	}
	unique := t.TempDir()
	base, _ := made("FROM " + root + "\nRUN echo base of " + unique + " > /base\n")
	short := strings.TrimPrefix(base, "sha256:")[:12]
	one, steps := made("FROM " + base + "\nRUN echo ' ---> " + short + "' && echo shared > /a\nRUN echo one > /b\n")
	two, _ := made("FROM " + base + "\nRUN echo ' ---> " + short + "' && echo shared > /a\nRUN echo two > /b\n")
	if len(steps) < 4 || steps[0] != short {
		t.Fatalf("the steps of the first build are %q; its base is %s", steps, short)
	}
	shared, last := steps[2], steps[3]
	if err := e.RemoveImage(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if !there(base) || !there(two) || !there(shared) || there(one) || there(last) {
		t.Errorf("after the first removal: base %v, the other image %v, shared step %v, image %v, its own step %v", there(base), there(two), there(shared), there(one), there(last))
	}
	if err := e.RemoveImage(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	if !there(base) || there(two) || there(shared) {
		t.Errorf("after the second removal: base %v, image %v, step %v", there(base), there(two), there(shared))
	}
}

func TestAnEngineThatCannot(t *testing.T) {
	e := enginetest.Open(t)
	_, err := e.Create(t.Context(), engine.Spec{Image: "no-such-image:ever"})
	if _, ok := errors.AsType[*engine.Fault](err); !ok || !errors.Is(err, engine.ErrMissing) {
		t.Errorf("an image that is not there: %v", err)
	}
	base := enginetest.Busybox(t, e)
	c := run(t, e, engine.Spec{Image: base, Command: []string{"sleep", "600"}})
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, _, err := e.Exec(ctx, c, engine.Command{Args: []string{"sleep", "600"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a command that is given up: %v", err)
	}
	if code, _, err := e.Exec(t.Context(), c, engine.Command{Args: []string{"no-such-program"}}); err == nil && code == 0 {
		t.Errorf("a program that is not there: code %d", code)
	}
	oom := run(t, e, engine.Spec{Image: base, Memory: 16 << 20, Command: []string{"sh", "-c", "x=x; while :; do x=$x$x; done"}})
	if exit, err := e.Wait(t.Context(), oom); err != nil || exit.Code == 0 {
		t.Errorf("out of memory: %+v, %v", exit, err)
	}
}

// Without an engine the sentence says what is missing and what to do.
func TestAbsentEngine(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for host, want := range map[string]string{
		"unix://" + filepath.Join(dir, "none.sock"): "there is no such socket; install and start one (Debian: apt-get install docker.io)",
		"unix://" + dead:       "start it (systemctl start docker)",
		"tcp://127.0.0.1:2375": "only the engine of this machine is used",
	} {
		_, err := engine.Open(t.Context(), host)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", host, err)
		}
		if strings.HasPrefix(host, "unix:") && !errors.Is(err, engine.ErrAbsent) {
			t.Errorf("%s: %v is not ErrAbsent", host, err)
		}
	}
}
