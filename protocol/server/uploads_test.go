package server_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/bundle"
)

// zeros is an endless stream.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// lines is an endless stream of short lines.
type lines struct{}

func (lines) Read(p []byte) (int, error) {
	for i := range p {
		if p[i] = 'x'; i%100 == 99 {
			p[i] = '\n'
		}
	}
	return len(p), nil
}

// gzipped compresses a stream.
func gzipped(t testing.TB, r io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_ = must(io.Copy(z, r))(t)
	must0(t, z.Close())
	return b.Bytes()
}

// entries packs tar entries as they are, also impossible ones.
func entries(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		must0(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_ = must(io.CopyN(w, zeros{}, h.Size))(t)
		}
	}
	must0(t, w.Close())
	return b.Bytes()
}

func file(name string, size int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, Format: tar.FormatPAX}
}

// TestRefusedUploads has a row for each way in which an upload can be wrong. Each
// gets a clear answer, and nothing of it stays on the disk or in the registry.
func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	limits := task.DefaultLimits()
	limits.MaxTotalBytes = 4 << 20
	s := newSite(t, func(o *options) {
		o.server.MaxJSON = 4000
		o.server.Receive = bundle.Receiver{Dir: dir, Limits: limits}.Receive
	})
	request := []byte(`{"challenge_id":"tb2-9b","repo_type":"bundle","repo_id":"sample"}`)
	good := tarball(t, oneTask(t))
	collection := func(change map[string]string) []byte {
		files := oneTask(t)
		for name, text := range change {
			files[name] = text
		}
		return tarball(t, files)
	}
	many := map[string]string{}
	for name, text := range oneTask(t) {
		for i := range 200 {
			many[strings.Replace(name, "contact-merge", fmt.Sprintf("contact-merge-%03d", i), 1)] = text
		}
	}
	with := func(b []byte) []part { return []part{{"request", request}, {"bundle", b}} }

	for name, c := range map[string]struct {
		status int
		code   string
		says   string
		parts  []part
	}{
		"no parts":              {400, "malformed", `no part "request"`, nil},
		"no bundle":             {400, "malformed", `no part "bundle"`, []part{{"request", request}}},
		"no request":            {400, "malformed", `"request" belongs`, []part{{"bundle", good}}},
		"the wrong order":       {400, "malformed", `"request" belongs`, []part{{"bundle", good}, {"request", request}}},
		"another part between":  {400, "malformed", `"bundle" belongs`, []part{{"request", request}, {"notes", request}, {"bundle", good}}},
		"a request of nonsense": {400, "malformed", "cannot be read", []part{{"request", []byte("{")}, {"bundle", good}}},
		"a large request":       {413, "too-large", "4000 bytes", []part{{"request", []byte(strings.Repeat(" ", 5000))}, {"bundle", good}}},
		"another repo type":     {422, "invalid", "repo_type bundle", []part{{"request", []byte(`{"challenge_id":"tb2-9b","repo_type":"github","repo_id":"ada/x"}`)}, {"bundle", good}}},
		"an unknown member":     {422, "invalid", "form of this endpoint", []part{{"request", []byte(`{"challenge_id":"tb2-9b","repo_type":"bundle","repo_id":"x","dir":"."}`)}, {"bundle", good}}},

		"no tar":               {422, "invalid-source", "damaged", with([]byte(strings.Repeat("hello ", 200)))},
		"nothing":              {422, "invalid-source", "no files", with(nil)},
		"half a tar":           {422, "invalid-source", "damaged", with(entries(t, file("a", 5000))[:4000])},
		"half a gzip":          {422, "invalid-source", "damaged", with(gzipped(t, bytes.NewReader(good))[:200])},
		"a bomb":               {422, "invalid-source", "more than 4 MiB", with(gzipped(t, bytes.NewReader(entries(t, file("envs/a/zeros", 64<<20)))))},
		"a bomb of many":       {422, "invalid-source", "more than 4 MiB", with(gzipped(t, bytes.NewReader(entries(t, file("a", 2<<20), file("b", 2<<20), file("c", 1)))))},
		"a parent directory":   {422, "invalid-source", "leaves the directory", with(entries(t, file("envs/../../x", 1)))},
		"an absolute path":     {422, "invalid-source", "absolute", with(entries(t, file("/etc/x", 1)))},
		"a device":             {422, "invalid-source", "neither a file", with(entries(t, tar.Header{Typeflag: tar.TypeBlock, Name: "disk"}))},
		"a hard link":          {422, "invalid-source", "neither a file", with(entries(t, file("a", 1), tar.Header{Typeflag: tar.TypeLink, Name: "b", Linkname: "a"}))},
		"a way out by a link":  {422, "invalid-source", "", with(entries(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "out", Linkname: "/tmp"}, file("out/x", 1)))},
		"a name twice":         {422, "invalid-source", "stands twice", with(entries(t, file("a", 1), file("a", 1)))},
		"case twins":           {422, "invalid-source", "", with(collection(map[string]string{"envs/contact-merge/README": "a", "envs/contact-merge/readme": "b"}))},
		"a name of no UTF-8":   {422, "invalid-source", "not UTF-8", with(entries(t, tar.Header{Typeflag: tar.TypeReg, Name: "a\xff", Format: tar.FormatGNU}))},
		"no submission.yaml":   {422, "not-valid", "submission.yaml", with(tarball(t, map[string]string{"envs/a/task.md": "x"}))},
		"201 tasks":            {422, "not-valid", "200", with(collection(many))},
		"a task of no content": {422, "not-valid", "problem", with(collection(map[string]string{"envs/empty/notes.txt": "x"}))},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			body, kind := form(t, c.parts...)
			a := s.do("POST", "/api/environments", author, body, "Content-Type", kind)
			p := a.problem(t)
			if a.StatusCode != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.says) {
				t.Errorf("%s %s: %s\nwant %d %s: …%s…", a.Status, p.Code, p.Detail, c.status, c.code, c.says)
			}
			if left := must(os.ReadDir(dir))(t); len(left) != 0 {
				t.Errorf("%d entries are left of the upload", len(left))
			}
		})
	}
	if n := must(s.store.LastEvent(t.Context()))(t); n != 0 {
		t.Errorf("%d events were written", n)
	}
}

// TestUploadOnABadDisk: what fails at the arena is not blamed on the sender.
func TestUploadOnABadDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *options) {
		o.server.Receive = bundle.Receiver{Dir: filepath.Join(t.TempDir(), "gone"), Limits: task.DefaultLimits()}.Receive
	})
	a := s.upload("/api/environments/validate", author, bundled("sample"), oneTask(t))
	if p := a.problem(t); a.StatusCode != http.StatusInternalServerError || p.Code != "internal" {
		t.Errorf("%s %s: %s", a.Status, p.Code, p.Detail)
	}
}

// TestUploadWithoutEnd sends more than a bundle may have: what comes before the
// first part, and in a part, counts too.
func TestUploadWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *options) { o.server.MaxBundle = 1 })
	for name, start := range map[string]struct {
		head string
		rest io.Reader
	}{
		"before the parts": {"", lines{}},
		"in the bundle": {"--x\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" + `{"challenge_id":"tb2-9b","repo_type":"bundle","repo_id":"sample"}` +
			"\r\n--x\r\nContent-Disposition: form-data; name=\"bundle\"\r\n\r\n" + string(entries(t, file("zeros", 80<<20))[:1024]), zeros{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			body := io.MultiReader(strings.NewReader(start.head), io.LimitReader(start.rest, 70<<20))
			r := s.request("POST", "/api/environments", author, body, "Content-Type", "multipart/form-data; boundary=x")
			a := s.send(author, r)
			if a.StatusCode != http.StatusRequestEntityTooLarge || a.code() != "too-large" {
				t.Errorf("%s: %s", a.Status, a.body)
			}
		})
	}
}

// TestUploadsAreTheirContent submits one directory in several packings: plain,
// compressed, with links and other modes. What counts is the content.
func TestUploadsAreTheirContent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.submit(author, "sample")
	plain := tarball(t, oneTask(t))
	for name, b := range map[string][]byte{"plain": plain, "gzipped": gzipped(t, bytes.NewReader(plain))} {
		body, kind := form(t, part{"request", []byte(`{"challenge_id":"tb2-9b","repo_type":"bundle","repo_id":"sample","title":"` + name + `"}`)}, part{"bundle", b})
		a := s.want(200, "POST", "/api/environments", author, body, "Content-Type", kind)
		if !strings.Contains(string(a.body), first.ID) || !strings.Contains(string(a.body), `"existing":true`) {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	// A changed file is another revision, and so another collection.
	files := oneTask(t)
	files["envs/contact-merge/notes.md"] = "Nothing of importance."
	a := s.upload("/api/environments", author, bundled("sample"), files)
	if a.StatusCode != 201 || strings.Contains(string(a.body), first.Revision) {
		t.Errorf("a changed directory: %s: %s", a.Status, a.body)
	}
	// A revision that the upload does not have is refused.
	req := bundled("sample")
	req.Revision = first.Revision
	if a := s.upload("/api/environments", author, req, files); a.StatusCode != 422 || a.code() != protocol.ErrInvalidSource.Code {
		t.Errorf("another revision than the upload's: %s: %s", a.Status, a.body)
	}
}
