package hubtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// GitHub is a fake of GitHub as three servers: the API, the tarballs, the raw
// files. It keeps G1 G2 G3 G4 G5 G6 G8 G9 G10 G11 G13 G14 G16 G17 G18 G19a G19d
// G19e G19f G19g.
type GitHub struct {
	*Server          // the API
	Archives *Server // tarballs
	Raw      *Server // single files
	// Limit is how many API calls an hour a caller without a token has, and Token
	// the one token that has 5,000.
	Limit int
	Token string
	// Truncate cuts listings.
	Truncate bool
	// Extra is added to every tarball after its files, as it is.
	Extra []tar.Header
	// WrongComment makes tarballs say that they are of another commit.
	WrongComment bool

	mu           sync.Mutex
	repositories map[string]*Repository
	renamed      map[string]string
	used         int
	raw          int
}

// rawLimit is how many raw files an address gets before it is refused (G11).
const rawLimit = 60

// NewGitHub starts the fake.
func NewGitHub(t testing.TB) *GitHub {
	g := &GitHub{Limit: 60, repositories: map[string]*Repository{}, renamed: map[string]string{}}
	g.Server = newServer(t, g.admit)
	g.Archives = newServer(t, g.foreign)
	g.Raw = newServer(t, g.foreign)
	g.Handle("GET /repos/{owner}/{repo}/commits/{ref}", g.commit)
	g.Handle("GET /repos/{owner}/{repo}/git/trees/{ref}", g.tree)
	g.Handle("GET /repos/{owner}/{repo}/git/blobs/{sha}", g.blob)
	g.Handle("GET /repos/{owner}/{repo}", g.about)
	g.Handle("GET /repositories/{owner}/{repo}/commits/{ref}", g.commit)
	g.Handle("GET /repositories/{owner}/{repo}/git/trees/{ref}", g.tree)
	g.Handle("GET /rate_limit", func(w http.ResponseWriter, _ *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		core := map[string]any{"limit": g.Limit, "remaining": max(0, g.Limit-g.used), "used": g.used, "reset": g.reset().Unix()}
		writeJSON(w, http.StatusOK, map[string]any{"resources": map[string]any{"core": core}, "rate": core})
	})
	g.Archives.Handle("GET /{owner}/{repo}/tar.gz/{ref}", g.tarball)
	g.Raw.Handle("GET /{owner}/{repo}/{ref}/{path...}", g.rawFile)
	return g
}

// Repository adds a repository, or returns the one of that name.
func (g *GitHub) Repository(name string) *Repository {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.repositories[name] == nil {
		g.repositories[name] = &Repository{Name: name}
	}
	return g.repositories[name]
}

// Rename leaves a redirect at the old name.
func (g *GitHub) Rename(from, to string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.repositories[to], g.renamed[from] = g.repositories[from], to
	delete(g.repositories, from)
}

// Reset begins a new hour.
func (g *GitHub) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used, g.raw = 0, 0
}

// reset is when the hour ends, by the fake's clock.
func (g *GitHub) reset() time.Time { return g.Now().Truncate(time.Hour).Add(time.Hour) }

// foreign asserts that no token comes to the hosts that take none.
func (g *GitHub) foreign(_ http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Authorization") != "" {
		g.T.Errorf("a token arrived at %s", r.Host)
	}
	return true
}

// gitError is a refusal in GitHub's form (G18).
func gitError(w http.ResponseWriter, status int, message, topic string) {
	writeJSON(w, status, map[string]string{"message": message, "documentation_url": "https://docs.github.com/rest/" + topic, "status": strconv.Itoa(status)})
}

// admit counts an API call, by token or without, and sets the headers of G16.
func (g *GitHub) admit(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("X-Github-Request-Id", "FAKE:1")
	if strings.HasSuffix(r.URL.Path, "/") {
		gitError(w, http.StatusNotFound, "Not Found", "rest")
		return false
	}
	if v := r.Header.Get("X-Github-Api-Version"); v != "" && v != "2022-11-28" {
		gitError(w, http.StatusBadRequest, "Unsupported API version", "about-the-rest-api/api-versions")
		return false
	}
	limit := g.Limit
	if auth := r.Header.Get("Authorization"); auth != "" {
		if g.Token == "" || auth != "Bearer "+g.Token {
			gitError(w, http.StatusUnauthorized, "Bad credentials", "rest")
			return false
		}
		limit = 5000
	}
	g.mu.Lock()
	if r.URL.Path != "/rate_limit" {
		g.used++
	}
	used := g.used
	g.mu.Unlock()
	for name, value := range map[string]int64{"Limit": int64(limit), "Remaining": int64(max(0, limit-used)), "Used": int64(min(used, limit)), "Reset": g.reset().Unix()} {
		w.Header().Set("X-Ratelimit-"+name, strconv.FormatInt(value, 10))
	}
	w.Header().Set("X-Ratelimit-Resource", "core")
	if used > limit {
		gitError(w, http.StatusForbidden, "API rate limit exceeded for 127.0.0.1.", "overview/resources-in-the-rest-api#rate-limiting")
		return false
	}
	return true
}

// repository finds the repository of a request; when there is none, or it moved,
// it answers (G19d, G10).
func (g *GitHub) repository(w http.ResponseWriter, r *http.Request) *Repository {
	name := r.PathValue("owner") + "/" + r.PathValue("repo")
	g.mu.Lock()
	repo, moved := g.repositories[name], g.renamed[name]
	g.mu.Unlock()
	if moved != "" {
		target := "http://" + r.Host + strings.NewReplacer("/repos/"+name+"/", "/repositories/"+moved+"/", "/"+name+"/", "/"+moved+"/").Replace(r.URL.RequestURI())
		w.Header().Set("Location", target)
		writeJSON(w, http.StatusMovedPermanently, map[string]string{"message": "Moved Permanently", "url": target})
		return nil
	}
	if repo == nil || repo.Private {
		gitError(w, http.StatusNotFound, "Not Found", "rest")
		return nil
	}
	if repo.TakenDown != "" {
		writeJSON(w, http.StatusUnavailableForLegalReasons, map[string]any{
			"message": "Repository access blocked", "block": map[string]string{"reason": repo.TakenDown, "created_at": "2026-01-01T00:00:00Z"},
		})
		return nil
	}
	return repo
}

// blob answers G8: bytes, or JSON with base64 in lines.
func (g *GitHub) blob(w http.ResponseWriter, r *http.Request) {
	repo := g.repository(w, r)
	if repo == nil {
		return
	}
	f, ok := repo.blob(r.PathValue("sha"))
	if !ok {
		gitError(w, http.StatusNotFound, "Not Found", "git/blobs#get-a-blob")
		return
	}
	if r.Header.Get("Accept") == "application/vnd.github.raw" {
		w.Header().Set("Content-Type", "application/vnd.github.raw; charset=utf-8")
		_, _ = w.Write([]byte(f.object()))
		return
	}
	text := base64.StdEncoding.EncodeToString([]byte(f.object()))
	lines := ""
	for len(text) > 60 {
		lines, text = lines+text[:60]+"\n", text[60:]
	}
	writeJSON(w, http.StatusOK, map[string]any{"sha": f.Blob(), "node_id": "B_fake", "size": len(f.object()), "url": g.URL, "content": lines + text + "\n", "encoding": "base64"})
}

// about answers G9.
func (g *GitHub) about(w http.ResponseWriter, r *http.Request) {
	repo := g.repository(w, r)
	if repo == nil {
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"full_name": repo.Name, "private": repo.Private, "visibility": "public", "archived": false, "disabled": repo.Disabled, "default_branch": "main", "size": 1,
	})
}

// commit answers G2.
func (g *GitHub) commit(w http.ResponseWriter, r *http.Request) {
	repo := g.repository(w, r)
	if repo == nil {
		return
	}
	if r.Header.Get("Accept") != "application/vnd.github.sha" {
		g.T.Error("a commit was asked for with its whole diff")
	}
	if repo.empty() {
		gitError(w, http.StatusConflict, "Git Repository is empty.", "commits/commits")
		return
	}
	ref := strings.TrimPrefix(strings.TrimPrefix(r.PathValue("ref"), "heads/"), "tags/")
	_, commit, ok := repo.At(ref)
	if !ok {
		gitError(w, http.StatusUnprocessableEntity, "No commit found for SHA: "+r.PathValue("ref"), "commits/commits")
		return
	}
	w.Header().Set("ETag", strconv.Quote(commit))
	if r.Header.Get("If-None-Match") == strconv.Quote(commit) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/vnd.github.sha; charset=utf-8")
	fmt.Fprint(w, commit)
}

// tree answers G3 to G6.
func (g *GitHub) tree(w http.ResponseWriter, r *http.Request) {
	repo := g.repository(w, r)
	if repo == nil {
		return
	}
	files, commit, ok := repo.At(r.PathValue("ref"))
	if !ok {
		gitError(w, http.StatusNotFound, "Not Found", "git/trees")
		return
	}
	recursive := r.URL.Query().Has("recursive") // any value switches it on, 0 too
	rows, seen := []map[string]any{}, map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if !seen[dir] && (recursive || !strings.Contains(dir, "/")) {
				rows = append(rows, map[string]any{"path": dir, "mode": "040000", "type": "tree", "sha": strings.Repeat("0", 40)})
			}
			seen[dir] = true
		}
		if !recursive && strings.Contains(f.Path, "/") {
			continue
		}
		row := map[string]any{"path": f.Path, "mode": f.mode(), "type": "blob", "sha": f.Blob(), "size": len(f.object()), "url": g.URL}
		if f.Mode == "160000" {
			row["type"] = "commit"
			delete(row, "size")
			delete(row, "url")
		}
		rows = append(rows, row)
	}
	if g.Truncate {
		rows = rows[:len(rows)/2]
	}
	writeJSON(w, http.StatusOK, map[string]any{"sha": commit, "url": g.URL, "truncated": g.Truncate, "tree": rows})
}

// tarball answers G13 and G14: one top directory, the commit in a global header,
// without what .gitattributes leave out.
func (g *GitHub) tarball(w http.ResponseWriter, r *http.Request) {
	repo := g.repository(w, r)
	if repo == nil {
		return
	}
	files, commit, ok := repo.At(r.PathValue("ref"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	if g.WrongComment {
		commit = strings.Repeat("f", 40)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	top := path.Base(repo.Name) + "-" + commit + "/"
	add := func(h tar.Header, text string) {
		h.Size, h.Mode, h.Format = int64(len(text)), 0o644, tar.FormatPAX
		if err := t.WriteHeader(&h); err != nil {
			g.T.Errorf("tar header %q: %v", h.Name, err)
		}
		_, _ = t.Write([]byte(text))
	}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": commit}}); err != nil {
		g.T.Error(err)
	}
	add(tar.Header{Typeflag: tar.TypeDir, Name: top}, "")
	for _, f := range files {
		text := f.object()
		switch {
		case f.ExportIgnore:
			continue
		case f.ExportSubst:
			text = strings.Repeat("x", len(text))
		case f.Mode == "120000":
			add(tar.Header{Typeflag: tar.TypeSymlink, Name: top + f.Path, Linkname: text}, "")
			continue
		case f.Mode == "160000":
			add(tar.Header{Typeflag: tar.TypeDir, Name: top + f.Path + "/"}, "")
			continue
		}
		add(tar.Header{Typeflag: tar.TypeReg, Name: top + f.Path}, text)
	}
	for _, h := range g.Extra {
		add(h, "")
	}
	_ = t.Close()
	_ = z.Close()
	w.Header().Set("Content-Type", "application/x-gzip")
	flush(w) // no Content-Length, as the real one
	_, _ = w.Write(b.Bytes())
}

// rawFile answers G11.
func (g *GitHub) rawFile(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.raw++
	n := g.raw
	g.mu.Unlock()
	if n > rawLimit {
		http.Error(w, "429: Too Many Requests", http.StatusTooManyRequests)
		return
	}
	name := r.PathValue("owner") + "/" + r.PathValue("repo")
	g.mu.Lock()
	repo, moved := g.repositories[name], g.renamed[name]
	g.mu.Unlock()
	if moved != "" {
		http.Redirect(w, r, strings.Replace(r.URL.EscapedPath(), name, moved, 1), http.StatusMovedPermanently)
		return
	}
	if repo != nil && !repo.Private && repo.TakenDown == "" {
		if f, _, ok := repo.file(r.PathValue("ref"), r.PathValue("path")); ok {
			w.Header().Set("ETag", `"not-the-blob-id"`)
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte(f.object()))
			return
		}
	}
	http.Error(w, "404: Not Found", http.StatusNotFound)
}
