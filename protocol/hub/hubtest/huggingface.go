package hubtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// HuggingFace is a fake of the hub: identity, sign-in, datasets, with a content
// network on another origin. It keeps H1 H2 H3 H5 H6 H8 H9 H11, A1 A2 A3 A6 A9a
// A9b A10 A11 A12 A13 A14 A15 A16 A17, D1 D2 D3 D4 D5 D6 D7 D9 D10 D11 D13 D14a
// D14b D14c D15a D15b D15c D16 D17 D19 D20 D21 D22 D24.
type HuggingFace struct {
	*Server
	CDN *Server // where the content of LFS and Xet files is; takes no hub token
	// Page is how many rows a page of a listing has.
	Page int
	// NoShortcut takes away the path that resolve redirects plain files to.
	NoShortcut bool
	// Endless makes every page of a listing have another one.
	Endless bool
	// Quota is what a caller may ask for in a window, by bucket: api, resolvers,
	// pages. 0 means without end.
	Quota map[string]int
	// App is the registered application that people sign in to.
	App App

	mu       sync.Mutex
	datasets map[string]*Repository
	renamed  map[string]string
	tokens   map[string]*Token
	used     map[string]int // requests by bucket
	codes    map[string]grant
	objects  map[string]string // content of LFS objects that were uploaded, by SHA-256
	devices  map[string]device
	tickets  map[string]string // content of signed URLs, by ticket
	n        int
}

// Account is a person, an app or an organization of the hub.
type Account struct {
	Type string // empty: user
	ID   string // 24 hex digits; empty: derived from the name
	Name string
	Orgs []Org
}

// Org is a membership.
type Org struct {
	ID           string
	Name         string // slug
	Fullname     string // what its owner likes
	Role         string // empty: not shown
	Restrictions []string
}

// Token is a token of an account.
type Token struct {
	Account Account
	Kind    string // read, write or fineGrained; empty: read
	// Shows says which organizations the token shows; nil: all.
	Shows   []string
	NoRoles bool   // it shows no roles
	Grants  string // the gated or private dataset that it may read
	Expired time.Time
	Revoked bool
}

// NewHuggingFace starts the fake.
func NewHuggingFace(t testing.TB) *HuggingFace {
	h := &HuggingFace{
		Page: 1000, datasets: map[string]*Repository{}, renamed: map[string]string{}, tokens: map[string]*Token{}, used: map[string]int{},
		codes: map[string]grant{}, devices: map[string]device{}, tickets: map[string]string{}, objects: map[string]string{}, Quota: map[string]int{},
	}
	h.Server = newServer(t, h.admit)
	h.CDN = newServer(t, nil)
	h.CDN.Handle("GET /{ticket}", h.content)
	h.Handle("GET /api/whoami-v2", h.whoami)
	h.Handle("GET /api/datasets/{ns}/{repo}/revision/{rev}", h.info)
	h.Handle("GET /api/datasets/{ns}/{repo}/tree/{rev}", h.tree)
	h.Handle("GET /api/datasets/{ns}/{repo}/tree/{rev}/{path...}", h.tree)
	h.Handle("GET /api/datasets/{ns}/{repo}/refs", h.refs)
	h.Handle("GET /api/datasets/{ns}/{repo}/commits/{rev}", h.commits)
	h.Handle("GET /api/datasets/{ns}/{repo}/treesize/{rev}/{path...}", h.treeSize)
	h.Handle("POST /api/datasets/{ns}/{repo}/paths-info/{rev}", h.pathsInfo)
	h.Handle("GET /datasets/{ns}/{repo}/resolve/{rev}/{path...}", h.resolve)
	h.Handle("GET /api/resolve-cache/datasets/{ns}/{repo}/{rev}/{path...}", h.resolveCache)
	h.oauth()
	h.writing()
	return h
}

// Dataset adds a dataset, or returns the one of that name.
func (h *HuggingFace) Dataset(name string) *Repository {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.datasets[name] == nil {
		h.datasets[name] = &Repository{Name: name}
	}
	return h.datasets[name]
}

// Rename leaves a redirect at the old name.
func (h *HuggingFace) Rename(from, to string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.datasets[to], h.renamed[from] = h.datasets[from], to
	delete(h.datasets, from)
}

// Issue makes a token known.
func (h *HuggingFace) Issue(secret string, t Token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens[secret] = &t
}

// Revoke makes a token unknown.
func (h *HuggingFace) Revoke(secret string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tokens[secret]; t != nil {
		t.Revoked = true
	}
}

// bucket is the rate limit that a request counts for (H5).
func bucket(r *http.Request) string {
	switch {
	case strings.Contains(r.URL.Path, "/resolve/"), strings.HasPrefix(r.URL.Path, "/api/resolve-cache/"):
		return "resolvers"
	case strings.HasPrefix(r.URL.Path, "/api/"):
		return "api"
	default:
		return "pages"
	}
}

// admit counts the request and sets the headers that every answer has (H3, H6).
func (h *HuggingFace) admit(w http.ResponseWriter, r *http.Request) bool {
	b := bucket(r)
	h.mu.Lock()
	h.used[b]++
	h.n++
	used, quota, n := h.used[b], h.Quota[b], h.n
	h.mu.Unlock()
	limit := cmp.Or(quota, 3000)
	w.Header().Set("X-Request-Id", fmt.Sprintf("Root=1-%08d", n))
	w.Header().Set("RateLimit-Policy", fmt.Sprintf(`"fixed window";%q;q=%d;w=300`, b, limit))
	w.Header().Set("RateLimit", fmt.Sprintf(`%q;r=%d;t=55`, b, max(0, limit-used)))
	if quota > 0 && used > quota {
		hubError(w, http.StatusTooManyRequests, "", "We had to rate limit you, please wait")
		return false
	}
	return true
}

// Lift takes away every rate limit. Requests may be under way.
func (h *HuggingFace) Lift() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.Quota)
}

// hubError is a refusal in the hub's form (H2, H3).
func hubError(w http.ResponseWriter, status int, code, message string) {
	if code != "" {
		w.Header().Set("X-Error-Code", code)
	}
	w.Header().Set("X-Error-Message", message)
	writeJSON(w, status, map[string]string{"error": message})
}

// Bearer returns the token of a request, nil without one. When the token is not
// good it answers (A9a) and returns false. Extensions use it to admit callers.
func (h *HuggingFace) Bearer(w http.ResponseWriter, r *http.Request) (*Token, bool) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return nil, true
	}
	secret, ok := strings.CutPrefix(header, "Bearer ")
	h.mu.Lock()
	t := h.tokens[secret]
	h.mu.Unlock()
	if !ok || t == nil || t.Revoked || !t.Expired.IsZero() && h.Now().After(t.Expired) {
		hubError(w, http.StatusUnauthorized, "", "Invalid credentials in Authorization header")
		return nil, false
	}
	return t, true
}

// whoami answers A1 to A3 and A9.
func (h *HuggingFace) whoami(w http.ResponseWriter, r *http.Request) {
	t, ok := h.Bearer(w, r)
	if !ok {
		return
	}
	if t == nil {
		hubError(w, http.StatusUnauthorized, "", "Invalid username or password.")
		return
	}
	a := t.Account
	if a.Type != "" && a.Type != "user" {
		writeJSON(w, http.StatusOK, map[string]any{"type": a.Type, "id": accountID(a.Name, a.ID), "name": a.Name, "auth": map[string]any{"type": "app_token"}})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"type": "user", "id": accountID(a.Name, a.ID), "name": a.Name, "fullname": strings.ToUpper(a.Name), "isPro": false,
		"avatarUrl": "/avatars/" + a.Name + ".svg", "orgs": t.orgs(func(o Org) map[string]any {
			return map[string]any{"type": "org", "id": accountID(o.Name, o.ID), "name": o.Name, "fullname": cmp.Or(o.Fullname, o.Name), "avatarUrl": ""}
		}),
		"auth": map[string]any{"type": "access_token", "accessToken": map[string]any{"displayName": "test", "role": cmp.Or(t.Kind, "read"), "createdAt": "2026-01-01T00:00:00.000Z"}},
	})
}

// orgs lists what the token shows of the account's organizations.
func (t *Token) orgs(row func(Org) map[string]any) []map[string]any {
	all := []map[string]any{}
	for _, o := range t.Account.Orgs {
		shown := t.Shows == nil
		for _, name := range t.Shows {
			shown = shown || name == o.Name
		}
		if !shown {
			continue
		}
		m := row(o)
		if o.Role != "" && !t.NoRoles {
			m["roleInOrg"] = o.Role
		}
		if len(o.Restrictions) > 0 {
			m["securityRestrictions"] = o.Restrictions
		}
		all = append(all, m)
	}
	return all
}

// accountID is an account's key of 24 hex digits.
func accountID(name, id string) string {
	sum := sha256.Sum256([]byte("account " + name))
	return cmp.Or(id, hex.EncodeToString(sum[:12]))
}

// dataset finds the dataset of a request and whether the caller may see it; when
// not, or when it moved, it answers (D14, D15, D9.3). Bytes of a gated dataset
// need a grant, facts about it do not (D3).
func (h *HuggingFace) dataset(w http.ResponseWriter, r *http.Request, bytes bool) *Repository {
	t, ok := h.Bearer(w, r)
	if !ok {
		return nil
	}
	name := r.PathValue("ns") + "/" + r.PathValue("repo")
	h.mu.Lock()
	d, moved := h.datasets[name], h.renamed[name]
	h.mu.Unlock()
	granted := t != nil && t.Grants == name
	switch {
	case moved != "":
		w.Header().Set("Location", strings.Replace(r.URL.RequestURI(), name, moved, 1))
		w.WriteHeader(http.StatusTemporaryRedirect)
	case d == nil || d.Private && !granted:
		if t == nil {
			hubError(w, http.StatusUnauthorized, "RepoNotFound", "Invalid username or password.")
		} else {
			hubError(w, http.StatusNotFound, "RepoNotFound", "Repository not found")
		}
	case d.Disabled && bytes:
		hubError(w, http.StatusForbidden, "", "Access to this resource is disabled.")
	case d.Gated != "" && bytes && t == nil:
		hubError(w, http.StatusUnauthorized, "GatedRepo", "Access to dataset "+name+" is restricted. You must be authenticated to access it.")
	case d.Gated != "" && bytes && !granted:
		hubError(w, http.StatusForbidden, "GatedRepo", "Access to dataset "+name+" is restricted and you are not in the authorized list.")
	default:
		return d
	}
	return nil
}

// revision finds the commit of a request; when there is none it answers (D16).
func (h *HuggingFace) revision(w http.ResponseWriter, r *http.Request, d *Repository) ([]File, string, bool) {
	files, commit, ok := d.At(r.PathValue("rev"))
	if !ok {
		files, commit, ok = d.At(d.whole(r.PathValue("rev")))
	}
	if !ok {
		hubError(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+r.PathValue("rev"))
	}
	return files, commit, ok
}

// info answers D1.
func (h *HuggingFace) info(w http.ResponseWriter, r *http.Request) {
	d := h.dataset(w, r, false)
	if d == nil {
		return
	}
	files, commit, ok := h.revision(w, r, d)
	if !ok {
		return
	}
	siblings := []map[string]string{}
	for _, f := range files {
		siblings = append(siblings, map[string]string{"rfilename": f.Path})
	}
	var gated any = false
	if d.Gated != "" {
		gated = d.Gated
	}
	owner, _, _ := strings.Cut(d.Name, "/")
	writeJSON(w, http.StatusOK, map[string]any{
		"_id": accountID(d.Name, ""), "id": d.Name, "author": owner, "sha": commit, "private": d.Private, "gated": gated, "disabled": d.Disabled,
		"lastModified": "2026-01-01T00:00:00.000Z", "tags": []string{}, "downloads": 0, "likes": 0, "siblings": siblings,
	})
}

// tree answers D5 to D7: every row of a folder and below, in pages.
func (h *HuggingFace) tree(w http.ResponseWriter, r *http.Request) {
	d := h.dataset(w, r, false)
	if d == nil {
		return
	}
	files, commit, ok := h.revision(w, r, d)
	if !ok {
		return
	}
	if r.URL.Query().Get("recursive") != "true" {
		h.T.Errorf("a listing of %s was asked for without recursive=true", d.Name)
	}
	rows := treeRows(files, r.PathValue("path"))
	if len(rows) == 0 && r.PathValue("path") != "" {
		w.Header().Set("X-Repo-Commit", commit)
		hubError(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
		return
	}
	from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("cursor"), "after-"))
	if h.Endless {
		rows = nil
		for i := range h.Page {
			rows = append(rows, fileRow(File{Path: fmt.Sprintf("endless/%09d", from+i)}))
		}
	} else {
		rows = rows[min(from, len(rows)):]
	}
	if len(rows) > h.Page || h.Endless {
		rows = rows[:h.Page]
		q := r.URL.Query()
		q.Set("cursor", "after-"+strconv.Itoa(from+h.Page))
		next := h.URL + r.URL.EscapedPath() + "?" + q.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, next))
	}
	writeJSON(w, http.StatusOK, rows)
}

// treeRows lists what is below a folder, folders included.
func treeRows(files []File, dir string) []map[string]any {
	rows, seen := []map[string]any{}, map[string]bool{}
	for _, f := range files {
		if dir != "" && !strings.HasPrefix(f.Path, dir+"/") {
			continue
		}
		for p := path.Dir(f.Path); p != "." && p != dir && !seen[p]; p = path.Dir(p) {
			seen[p] = true
			rows = append(rows, map[string]any{"type": "directory", "path": p, "oid": strings.Repeat("0", 40), "size": 0})
		}
		rows = append(rows, fileRow(f))
	}
	return rows
}

func fileRow(f File) map[string]any {
	row := map[string]any{"type": "file", "path": f.Path, "oid": f.Blob(), "size": len(f.Text)}
	if f.Mode == "160000" {
		row["type"] = "unknown"
		delete(row, "size")
	}
	if f.outside() {
		row["lfs"] = map[string]any{"oid": f.SHA256(), "size": len(f.Text), "pointerSize": len(f.object())}
	}
	if f.Xet {
		row["xetHash"] = f.SHA256()
	}
	return row
}

// refs answers D4.
func (h *HuggingFace) refs(w http.ResponseWriter, r *http.Request) {
	d := h.dataset(w, r, false)
	if d == nil {
		return
	}
	out := map[string][]map[string]string{"branches": {}, "tags": {}, "converts": {}}
	if r.URL.Query().Get("include_prs") == "1" {
		out["pullRequests"] = []map[string]string{}
	}
	for name, commit := range d.Refs() {
		kind, ref := "branches", "refs/heads/"+name
		if strings.HasPrefix(name, "refs/pr/") {
			kind, ref = "pullRequests", name
		}
		if out[kind] != nil {
			out[kind] = append(out[kind], map[string]string{"name": name, "ref": ref, "targetCommit": commit})
		}
	}
	writeJSON(w, http.StatusOK, out)
}

// commits answers D4 for a history of one commit.
func (h *HuggingFace) commits(w http.ResponseWriter, r *http.Request) {
	d := h.dataset(w, r, false)
	if d == nil {
		return
	}
	if _, commit, ok := h.revision(w, r, d); ok {
		w.Header().Set("X-Total-Count", "1")
		writeJSON(w, http.StatusOK, []map[string]any{{"id": commit, "title": "Add files", "message": "", "authors": []map[string]string{{"user": "ada"}}, "date": "2026-01-01T00:00:00.000Z"}})
	}
}

// treeSize answers D4.
func (h *HuggingFace) treeSize(w http.ResponseWriter, r *http.Request) {
	d := h.dataset(w, r, false)
	if d == nil {
		return
	}
	files, _, ok := h.revision(w, r, d)
	if !ok {
		return
	}
	size, dir := 0, r.PathValue("path")
	for _, f := range files {
		if dir == "" || strings.HasPrefix(f.Path, dir+"/") {
			size += len(f.Text)
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"path": dir, "size": size})
}

// pathsInfo answers D4: what is not there is left out.
func (h *HuggingFace) pathsInfo(w http.ResponseWriter, r *http.Request) {
	d := h.dataset(w, r, false)
	if d == nil {
		return
	}
	files, _, ok := h.revision(w, r, d)
	if !ok {
		return
	}
	var asked struct {
		Paths []string `json:"paths"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		hubError(w, http.StatusBadRequest, "", "Invalid JSON")
		return
	}
	rows := []map[string]any{}
	for _, f := range files {
		if slices.Contains(asked.Paths, f.Path) {
			rows = append(rows, fileRow(f))
		}
	}
	writeJSON(w, http.StatusOK, rows)
}

// resolve answers D9 and D10: plain files redirect within the hub, others to the
// content network, and only this first answer says what the file is.
func (h *HuggingFace) resolve(w http.ResponseWriter, r *http.Request) {
	f, commit, ok := h.file(w, r)
	if !ok {
		return
	}
	w.Header().Set("X-Linked-Size", strconv.Itoa(len(f.Text)))
	if f.Xet && r.Header.Get("Accept") == "application/vnd.xet-fileinfo+json" {
		writeJSON(w, http.StatusOK, map[string]any{"hash": f.SHA256(), "refreshUrl": h.URL, "reconstructionUrl": h.URL, "etag": f.SHA256(), "size": len(f.Text)})
		return
	}
	if !f.outside() {
		w.Header().Set("X-Linked-Etag", strconv.Quote(f.Blob()))
		if h.NoShortcut {
			h.body(w, r, f)
			return
		}
		u := url.URL{Path: "/api/resolve-cache/datasets/" + r.PathValue("ns") + "/" + r.PathValue("repo") + "/" + commit + "/" + f.Path, RawQuery: "etag=" + f.Blob()}
		w.Header().Set("Location", u.String())
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	w.Header().Set("X-Linked-Etag", strconv.Quote(f.SHA256()))
	if f.Xet {
		w.Header().Set("X-Xet-Hash", f.SHA256())
	}
	h.mu.Lock()
	h.n++
	ticket := fmt.Sprintf("ticket-%d", h.n)
	h.tickets[ticket] = f.Text
	h.mu.Unlock()
	w.Header().Set("Location", h.CDN.URL+"/"+ticket+"?Signature=abc")
	w.WriteHeader(http.StatusFound)
}

// resolveCache answers plain files by their commit.
func (h *HuggingFace) resolveCache(w http.ResponseWriter, r *http.Request) {
	f, _, ok := h.file(w, r)
	if !ok {
		return
	}
	if h.NoShortcut || f.outside() {
		hubError(w, http.StatusNotFound, "", "Sorry, we can't find the page you are looking for.")
		return
	}
	h.body(w, r, f)
}

// body answers conditions and ranges too (D9, D13).
func (h *HuggingFace) body(w http.ResponseWriter, r *http.Request, f File) {
	w.Header().Set("ETag", strconv.Quote(f.Blob()))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(f.Text))
}

// file finds the file of a request; when there is none it answers (D17).
func (h *HuggingFace) file(w http.ResponseWriter, r *http.Request) (File, string, bool) {
	d := h.dataset(w, r, true)
	if d == nil {
		return File{}, "", false
	}
	if _, _, ok := h.revision(w, r, d); !ok {
		return File{}, "", false
	}
	f, commit, ok := d.file(r.PathValue("rev"), r.PathValue("path"))
	w.Header().Set("X-Repo-Commit", commit)
	if !ok {
		hubError(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
	}
	return f, commit, ok
}

// content is the content network: it takes no token, each signed URL works once,
// and its ETag means nothing to the hub (D10).
func (h *HuggingFace) content(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		h.T.Error("a token arrived at the content network")
	}
	h.mu.Lock()
	text, ok := h.tickets[r.PathValue("ticket")]
	delete(h.tickets, r.PathValue("ticket"))
	h.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	sum := sha256.Sum256([]byte("elsewhere " + text))
	w.Header().Set("ETag", strconv.Quote(hex.EncodeToString(sum[:])))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}
