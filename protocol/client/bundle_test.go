package client_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// sample is a small collection with everything that a tar entry can be.
func sample() fstest.MapFS {
	return fstest.MapFS{
		"submission.yaml":                                        {Data: []byte("team_name: crane\n"), Mode: 0o600, ModTime: time.Unix(1700000000, 0)},
		"envs/sort-logs/task.md":                                 {Data: []byte("---\n---\n"), Mode: 0o664},
		"envs/sort-logs/verifier/t.sh":                           {Data: []byte("#!/bin/sh\n"), Mode: 0o775},
		"envs/sort-logs/data":                                    {Data: []byte("../../submission.yaml"), Mode: fs.ModeSymlink | 0o777},
		"envs/sort-logs/" + strings.Repeat("long-", 30) + "name": {Data: []byte("x"), Mode: 0o644},
		"envs/sort-logs/größe.txt":                               {Data: []byte("ok"), Mode: 0o644},
		".git/HEAD":                                              {Data: []byte("ref: refs/heads/main\n"), Mode: 0o644},
	}
}

func bundle(t *testing.T, files fs.FS) *client.Bundle {
	t.Helper()
	b, err := client.NewBundle(files, "")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tarOf(t *testing.T, b *client.Bundle) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := b.WriteTar(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTarIsAFunctionOfTheContent(t *testing.T) {
	first := tarOf(t, bundle(t, sample()))
	later := sample()
	for _, f := range later {
		f.ModTime = time.Unix(1800000000, 0)
	}
	later[".git/index"] = &fstest.MapFile{Data: []byte("other")}
	later["envs/sort-logs/task.md"].Mode = 0o600 // git knows only executable or not
	if !bytes.Equal(first, tarOf(t, bundle(t, later))) {
		t.Error("times, modes or .git change the stream")
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(first)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(0, 0)) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("%s carries a time or an owner: %+v", h.Name, h)
		}
		got = append(got, fmt.Sprintf("%c %04o %d %s%s", h.Typeflag, h.Mode, h.Size, h.Name, strings.TrimRight(" -> "+h.Linkname, " ->")))
	}
	want := []string{
		"2 0777 0 envs/sort-logs/data -> ../../submission.yaml",
		"0 0644 2 envs/sort-logs/größe.txt",
		"0 0644 1 envs/sort-logs/" + strings.Repeat("long-", 30) + "name",
		"0 0644 8 envs/sort-logs/task.md",
		"0 0755 10 envs/sort-logs/verifier/t.sh",
		"0 0644 17 submission.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTreeIDFollowsTheContent(t *testing.T) {
	id := bundle(t, sample()).TreeID()
	changed := sample()
	changed["submission.yaml"].Data = []byte("team_name: heron\n")
	if other := bundle(t, changed).TreeID(); other == id || len(id) != 40 {
		t.Errorf("ids %s and %s", id, other)
	}
}

func TestBundleLimits(t *testing.T) {
	many := func(n int, name string) fstest.MapFS {
		files := sample()
		for i := range n {
			files[fmt.Sprintf(name, i)] = &fstest.MapFile{Data: []byte("x")}
		}
		return files
	}
	with := func(name string) fstest.MapFS {
		files := sample()
		files[name] = &fstest.MapFile{Data: []byte("x")}
		return files
	}
	for _, c := range []struct {
		name  string
		files fs.FS
		entry string
		is    error
		says  string
	}{
		{"201 tasks", many(200, "envs/task-%d/task.md"), "", nil, "201 task packages"},
		{"2,000 files in a task", many(1995, "envs/sort-logs/f%d"), "", nil, ""},
		{"2,001 files in a task", many(1996, "envs/sort-logs/f%d"), "", nil, "has 2001 files"},
		{"no task at all", fstest.MapFS{"submission.yaml": {Data: []byte("x")}}, "", nil, "no task package under envs/"},
		{"another entry path", sample(), "sub/dir", nil, "no task package under sub/dir/envs/"},
		{"case twins", with("envs/Sort-logs/task.md"), "", task.ErrTwin, ""},
		{"a deep path", with("envs/a" + strings.Repeat("/d", 20) + "/f"), "", task.ErrTooDeep, ""},
		{"a control character", with("envs/sort-logs/a\nb"), "", task.ErrControl, ""},
	} {
		_, err := client.NewBundle(c.files, c.entry)
		switch {
		case c.is == nil && c.says == "":
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		case c.is != nil && !errors.Is(err, c.is), err == nil, !strings.Contains(err.Error(), c.says):
			t.Errorf("%s: got %v, want %v %s", c.name, err, c.is, c.says)
		}
	}
}

// TestUploadIsRepeatable sends a bundle to an arena that answers twice through a
// failing proxy: each try must carry the same request and the same tar.
func TestUploadIsRepeatable(t *testing.T) {
	a := newArena(t, proxyError(502), proxyError(502), answers(200, "application/json", `{"valid":true}`))
	b := bundle(t, sample())
	req := api.EnvironmentRequest{ChallengeID: "c", RepoType: "bundle", RepoID: "pack"}
	got, err := a.client.Validate(t.Context(), req, b)
	if err != nil || !got.Value.Valid {
		t.Fatalf("%v, %v", got.Value, err)
	}
	all := a.requests()
	if len(all) != 3 || all[0] != all[1] || all[1] != all[2] {
		t.Fatalf("%d tries, or not the same bytes", len(all))
	}
	_, params, err := mime.ParseMediaType(all[0].contentType)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for r := multipart.NewReader(strings.NewReader(all[0].body), params["boundary"]); ; {
		p, err := r.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		parts[p.FormName()+" "+p.Header.Get("Content-Type")] = string(raw)
	}
	want := map[string]string{
		"request application/json": `{"challenge_id":"c","repo_type":"bundle","repo_id":"pack"}`,
		"bundle application/x-tar": string(tarOf(t, b)),
	}
	if !maps.Equal(parts, want) {
		t.Error(cmp.Diff(want, parts))
	}
}

// TestAChangedFileStopsTheUpload checks that a bundle is never sent with other
// content than was listed, and that this is not taken for a network failure.
func TestAChangedFileStopsTheUpload(t *testing.T) {
	for name, change := range map[string]func(string) error{
		"other bytes": func(f string) error { return os.WriteFile(f, []byte("team_name: heron\n"), 0o600) },
		"longer":      func(f string) error { return os.WriteFile(f, []byte(strings.Repeat("x", 100)), 0o600) },
		"shorter":     func(f string) error { return os.Truncate(f, 3) },
		"gone":        os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, withoutLinks(sample())); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			b := bundle(t, root.FS())
			if err := change(filepath.Join(dir, "submission.yaml")); err != nil {
				t.Fatal(err)
			}
			a := newArena(t, answers(200, "application/json", `{"valid":true}`))
			_, err = a.client.Validate(t.Context(), api.EnvironmentRequest{RepoType: "bundle"}, b)
			if !errors.Is(err, client.ErrBundleRead) || !strings.Contains(err.Error(), "submission.yaml") {
				t.Errorf("got %v, want ErrBundleRead naming the file", err)
			}
			if n := len(a.waits()); n != 0 {
				t.Errorf("tried %d times again", n)
			}
		})
	}
}

func withoutLinks(files fstest.MapFS) fstest.MapFS {
	for name, f := range files {
		if f.Mode&fs.ModeSymlink != 0 {
			delete(files, name)
		}
	}
	return files
}

// opens counts how often a file is opened.
type opens struct {
	fs.FS
	name  string
	count atomic.Int64
}

func (o *opens) Open(name string) (fs.File, error) {
	if name == o.name {
		o.count.Add(1)
	}
	return o.FS.Open(name)
}

// TestARefusalComesBeforeTheUpload checks that an arena which refuses the caller
// is not sent the directory first.
func TestARefusalComesBeforeTheUpload(t *testing.T) {
	files := &opens{FS: withoutLinks(sample()), name: "submission.yaml"}
	b := bundle(t, files)
	listed := files.count.Load()
	srv := httptest.NewServer(problem(401, "signed-out", ""))
	defer srv.Close()
	c, err := client.New(client.Options{BaseURL: srv.URL, HTTP: http.DefaultTransport})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Validate(t.Context(), api.EnvironmentRequest{RepoType: "bundle"}, b)
	if !errors.Is(err, protocol.ErrSignedOut) {
		t.Errorf("got %v", err)
	}
	if n := files.count.Load() - listed; n != 0 {
		t.Errorf("the refused upload read the directory")
	}
}
