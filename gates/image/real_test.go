package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/image"
)

// The tests in this file build the cases marked as real with a build tool that
// is installed here and compare every file and its content with the model. They
// pull nothing: all stages grow from scratch. They skip where there is no tool.

// TestAgainstDocker asks the Docker engine. Its classic builder knows only part
// of the syntax, and one build takes a second, so that a few cases must do.
func TestAgainstDocker(t *testing.T) {
	if testing.Short() {
		t.Skip("short: building images takes a while")
	}
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("docker is not installed")
	}
	if out, err := command(t, docker, "version", "--format", "{{.Server.Version}}").CombinedOutput(); err != nil {
		t.Skipf("the docker engine does not answer: %s", out)
	}
	const every = 6 // each sixth case
	for i, c := range realCases("docker") {
		if i%every != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) { compare(t, c, dockerBuild(t, docker, layOut(t, c))) })
	}
}

// TestAgainstBuildKit asks a BuildKit daemon through buildctl, which finds it by
// the variable BUILDKIT_HOST.
func TestAgainstBuildKit(t *testing.T) {
	if testing.Short() {
		t.Skip("short: building images takes a while")
	}
	buildctl, err := exec.LookPath("buildctl")
	if err != nil {
		t.Skip("buildctl is not installed")
	}
	if out, err := command(t, buildctl, "debug", "workers").CombinedOutput(); err != nil {
		t.Skipf("the BuildKit daemon does not answer: %s", out)
	}
	for _, c := range append(realCases("docker"), realCases("buildkit")...) {
		t.Run(c.name, func(t *testing.T) {
			dir := layOut(t, c)
			out := command(t, buildctl, "build", "--frontend", "dockerfile.v0", "--local", "context="+dir, "--local", "dockerfile="+filepath.Join(dir, "..", "file"), "--output", "type=tar,dest=-")
			var stdout, stderr bytes.Buffer
			out.Stdout, out.Stderr = &stdout, &stderr
			if err := out.Run(); err != nil {
				t.Fatalf("build: %v\n%s", err, stderr.Bytes())
			}
			compare(t, c, readTar(t, &stdout))
		})
	}
}

func realCases(kind string) []buildCase {
	var out []buildCase
	for _, list := range [][]buildCase{copyCases(), pathCases(), ignoreCases(), stageCases(), addCases()} {
		for _, c := range list {
			if c.real == kind {
				out = append(out, c)
			}
		}
	}
	return out
}

func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	return cmd
}

// layOut writes the context to a directory, and the Dockerfile beside it.
func layOut(t *testing.T, c buildCase) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "context")
	for name, f := range contextOf(c.context) {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, f.Data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(root, "file")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(file, 0o755), os.WriteFile(filepath.Join(file, "Dockerfile"), []byte(c.dockerfile), 0o644)); err != nil {
		t.Fatal(err)
	}
	if ignore, ok := contextOf(c.context)["Dockerfile.dockerignore"]; ok {
		if err := os.WriteFile(filepath.Join(file, "Dockerfile.dockerignore"), ignore.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func dockerBuild(t *testing.T, docker, dir string) map[string]string {
	t.Helper()
	run := func(args ...string) []byte {
		var stderr bytes.Buffer
		cmd := command(t, docker, args...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("docker %s: %v\n%s", args[0], err, stderr.Bytes())
		}
		return out
	}
	id := lastLine(run("build", "-q", "-f", filepath.Join(dir, "..", "file", "Dockerfile"), dir))
	defer run("rmi", "-f", id)
	container := lastLine(run("create", id, "none"))
	defer run("rm", container)
	return readTar(t, bytes.NewReader(run("export", container)))
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

// readTar returns the regular files of an archive, without those that a
// container engine puts there.
func readTar(t *testing.T, r io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		name := path.Clean("/" + h.Name)
		if h.Typeflag != tar.TypeReg || strings.HasPrefix(name, "/dev/") || slices.Contains([]string{"/.dockerenv", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}, name) {
			continue
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
}

// compare checks the model against what was really built.
func compare(t *testing.T, c buildCase, built map[string]string) {
	t.Helper()
	img, _ := image.Build([]byte(c.dockerfile), contextOf(c.context), c.opts)
	model := map[string]string{}
	for _, p := range img.Files {
		if p.Removed || p.Link != "" {
			continue
		}
		b, err := p.Content()
		if err != nil {
			t.Errorf("content of %s: %v", p.Target, err)
		}
		model[p.Target] = string(b)
	}
	if d := cmp.Diff(built, model); d != "" {
		t.Errorf("the model differs from the build (-built +model):\n%s\nmodel: %v", d, slices.Sorted(maps.Keys(model)))
	}
}
