package hfhub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/outbound"
)

// Datasets opens public, ungated datasets as sources. It implements hub.Host.
type Datasets struct {
	options Options
	limits  DatasetLimits
	client  *outbound.Client
	cache   *blobcache.Cache
	token   string
}

// DatasetLimits bounds what is read of a dataset.
type DatasetLimits struct {
	Files    int           // that a listing may have
	Ahead    int64         // size of the files that are fetched before anybody opens them, in bytes
	Patience time.Duration // for opening one snapshot; 0: two minutes
	// Check refuses a listing before anything of it is fetched; nil takes every one.
	Check func([]protocol.TreeFile) error
}

// NewDatasets makes the source. The token is the arena's own; it raises the hub's
// rate limits and may be empty. What it could see beyond public datasets is
// refused all the same.
func NewDatasets(o Options, limits DatasetLimits, cache *blobcache.Cache, token string) *Datasets {
	if limits.Patience <= 0 {
		limits.Patience = 2 * time.Minute
	}
	return &Datasets{options: o, limits: limits, client: o.client(), cache: cache, token: token}
}

// maxTreePage bounds one page of a listing, maxInfo the facts about a dataset,
// which list every file once more.
const (
	maxTreePage = 32 << 20
	maxInfo     = 64 << 20
)

// Open resolves the revision, lists the files below the entry path, and fetches
// those that gates read. It refuses datasets that are private, gated or disabled
// whatever the arena's own token may see (D3).
func (d *Datasets) Open(ctx context.Context, s protocol.Source) (*hub.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limits.Patience)
	defer cancel()
	r := &reading{Datasets: d, source: s, what: fmt.Sprintf("reading the dataset %s", s.RepoID), put: d.keep, name: strconv.Quote}
	info, err := r.resolve(ctx)
	if err == nil {
		err = r.open(info)
	}
	if err != nil {
		return nil, r.explain(err)
	}
	if err := r.list(ctx); err != nil {
		return nil, r.explain(err)
	}
	if d.limits.Check != nil {
		if err := d.limits.Check(r.entries); err != nil {
			return nil, err
		}
	}
	ahead := map[string]blobcache.Key{}
	for path, k := range r.keys {
		if k.Size <= d.limits.Ahead {
			ahead[path] = k
		}
	}
	if err := d.cache.Fill(ctx, ahead, atOnce, r.fetch); err != nil {
		return nil, r.explain(err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	late := func(ctx context.Context, path string, k blobcache.Key) error { return r.explain(r.fetch(ctx, path, k)) }
	return &hub.Snapshot{
		Commit: r.commit, Entries: r.entries, Files: d.cache.FS(life, r.keys, late),
		Close: func() error { end(); return nil },
	}, nil
}

// keep puts a body into the cache.
func (d *Datasets) keep(_ string, k blobcache.Key, body io.Reader) error { return d.cache.Put(k, body) }

// reading is one dataset being read.
type reading struct {
	*Datasets
	source  protocol.Source
	what    string
	commit  string
	entries []protocol.TreeFile
	keys    map[string]blobcache.Key // of the files that have a body, by path
	put     func(path string, k blobcache.Key, body io.Reader) error
	name    func(path string) string // how errors name a file
	noShort atomic.Bool              // the shorter way to plain files does not exist here
}

// repo is the URL of something about the dataset.
func (r *reading) repo(prefix []string, rest ...string) string {
	segments := append(append([]string{}, prefix...), strings.Split(r.source.RepoID, "/")...)
	return r.options.at(append(segments, rest...)...)
}

var (
	commitID  = regexp.MustCompile(`^[0-9a-f]{40}$`)
	contentID = regexp.MustCompile(`^[0-9a-f]{64}$`) // SHA-256, by which LFS names content
)

// shortID is what git takes for the beginning of a commit (D2).
var shortID = regexp.MustCompile(`^[0-9a-f]{7,39}$`)

// datasetInfo is what the hub says about a dataset at a revision (D1).
type datasetInfo struct {
	SHA      string          `json:"sha"`
	Private  bool            `json:"private"`
	Gated    json.RawMessage `json:"gated"` // false, "auto" or "manual"
	Disabled bool            `json:"disabled"`
}

// resolve turns the revision into a commit (D1, D2).
func (r *reading) resolve(ctx context.Context) (info datasetInfo, err error) {
	call := outbound.Call{
		Doing: r.what + ": find revision " + r.source.Revision, URL: r.repo([]string{"api", "datasets"}, "revision", r.source.Revision),
		Header: accept(), Token: r.token, Timeout: r.options.Timeout,
	}
	err = r.client.Do(ctx, call, func(resp *http.Response) error {
		info = datasetInfo{}
		if err := outbound.JSON(resp, maxInfo, &info); err != nil {
			return err
		}
		if !commitID.MatchString(info.SHA) || commitID.MatchString(r.source.Revision) && info.SHA != r.source.Revision {
			return errors.New("it names no commit of this revision")
		}
		return nil
	})
	r.commit = info.SHA
	return info, err
}

// open refuses what not everybody can read (D3), or not for long (D2).
func (r *reading) open(info datasetInfo) error {
	switch gated := string(info.Gated); {
	case info.Disabled:
		return r.refuse("access to it is disabled on the hub")
	case info.Private:
		return r.refuse("it is private; make it public")
	case gated != "" && gated != "false" && gated != "null":
		return r.refuse("it is gated; lift the gate so that everybody can read it")
	case len(r.source.Revision) < len(info.SHA) && shortID.MatchString(r.source.Revision) && strings.HasPrefix(info.SHA, r.source.Revision):
		why := fmt.Sprintf("%q is the beginning of a commit, which may name another one later; use the whole %s", r.source.Revision, info.SHA)
		return protocol.ErrInvalidSource.Detailf("The dataset %s cannot be read: %s.", r.source.RepoID, why).WithFields(protocol.FieldError{Field: "revision", Message: why})
	}
	return nil
}

// treeEntry is one row of a listing (D5).
type treeEntry struct {
	Type string `json:"type"`
	Path string `json:"path"`
	OID  string `json:"oid"`
	Size int64  `json:"size"`
	LFS  *struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	} `json:"lfs"`
}

// list reads every page of the listing (D5, D7, H8). A folder that does not exist
// is an empty listing, which whoever asked for it explains better.
func (r *reading) list(ctx context.Context) error {
	r.keys = map[string]blobcache.Key{}
	rest := append([]string{"tree", r.commit}, strings.Split(r.source.EntryPath, "/")...)
	if r.source.EntryPath == "" {
		rest = rest[:2]
	}
	next := r.repo([]string{"api", "datasets"}, rest...) + "?recursive=true&expand=false"
	origin, err := url.Parse(next)
	if err != nil {
		return r.refuse("it cannot be addressed")
	}
	seen := map[string]bool{}
	for next != "" {
		if seen[next] {
			return r.broken("its pages of files go round in a circle")
		}
		seen[next] = true
		var page []treeEntry
		var link string
		call := outbound.Call{Doing: r.what + ": list its files", URL: next, Header: accept(), Token: r.token, Timeout: r.options.Timeout}
		err := r.client.Do(ctx, call, func(resp *http.Response) error {
			link = nextLink(resp.Header)
			page = nil
			return outbound.JSON(resp, maxTreePage, &page)
		})
		if e, ok := errors.AsType[*outbound.Error](err); ok && e.Status == http.StatusNotFound && e.Code == "EntryNotFound" {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := r.add(e); err != nil {
				return err
			}
		}
		// Folders are rows too, so that pages without a file are few.
		if len(seen) > 50+r.limits.Files/10 {
			return r.broken("its listing has too many pages")
		}
		if next = link; next != "" {
			u, err := origin.Parse(next)
			if err != nil || u.Scheme != origin.Scheme || u.Host != origin.Host {
				return r.broken("its pages of files lead to another server")
			}
			next = u.String()
		}
	}
	return nil
}

// add takes one row of the listing.
func (r *reading) add(e treeEntry) error {
	f := protocol.TreeFile{Path: e.Path, Size: e.Size, Blob: e.OID, Kind: protocol.FileRegular}
	k := blobcache.Key{Git: e.OID, Size: e.Size}
	if e.LFS != nil { // also of files in Xet: git holds a pointer to content of this size
		f.Size = e.LFS.Size
		k = blobcache.Key{SHA256: strings.TrimPrefix(e.LFS.OID, "sha256:"), Size: e.LFS.Size}
	}
	switch e.Type {
	case "directory":
		return nil
	case "unknown": // neither a blob nor a tree to git: another repository's commit
		f.Kind, f.Size = protocol.FileSubmodule, 0
	case "file":
	default:
		return r.broken(fmt.Sprintf("its listing has an entry of the unknown kind %.40q", e.Type))
	}
	if e.Path == "" || !commitID.MatchString(e.OID) || e.LFS != nil && !contentID.MatchString(k.SHA256) || min(e.Size, f.Size) < 0 || strings.ContainsRune(e.Path, '\uFFFD') {
		return r.broken(fmt.Sprintf("its listing has an entry that cannot be read (%.80s)", r.name(e.Path)))
	}
	if len(r.entries) >= r.limits.Files {
		return r.refuse(fmt.Sprintf("it has more than %d files", r.limits.Files))
	}
	r.entries = append(r.entries, f)
	if e.Type == "file" {
		r.keys[e.Path] = k
	}
	return nil
}

// nextLink finds the next page in Link headers (H8).
func nextLink(h http.Header) string {
	for _, header := range h.Values("Link") {
		for _, m := range linkPattern.FindAllStringSubmatch(header, -1) {
			for _, rel := range strings.Fields(m[2]) {
				if strings.EqualFold(rel, "next") {
					return m[1]
				}
			}
		}
	}
	return ""
}

var linkPattern = regexp.MustCompile(`<([^>]*)>[^,]*?;\s*rel\s*=\s*"?([^",;]*)"?`)

// fetch gets one file into the cache. Plain files are asked for where the hub
// would redirect to, which saves every other request (D9, D13).
func (r *reading) fetch(ctx context.Context, path string, k blobcache.Key) error {
	plain := k.SHA256 == ""
	if plain && !r.noShort.Load() {
		err := r.get(ctx, path, k, "api", "resolve-cache", "datasets")
		e, ok := errors.AsType[*outbound.Error](err)
		if !ok || e.Status != http.StatusNotFound && e.Status != http.StatusBadRequest || e.Err != nil || e.Code != "" {
			return err
		}
		r.noShort.Store(true)
	}
	return r.get(ctx, path, k, "datasets")
}

func (r *reading) get(ctx context.Context, path string, k blobcache.Key, prefix ...string) error {
	rest := append([]string{r.commit}, strings.Split(path, "/")...)
	if prefix[0] == "datasets" {
		rest = append([]string{"resolve"}, rest...)
	}
	call := outbound.Call{
		Doing: fmt.Sprintf("%s: fetch %s", r.what, r.name(path)), URL: r.repo(prefix, rest...), Token: r.token,
		Timeout: timeout(r.options, 30*time.Second+time.Duration(k.Size>>18)*time.Second),
	}
	return r.client.Do(ctx, call, func(resp *http.Response) error {
		err := r.put(path, k, resp.Body)
		if errors.Is(err, blobcache.ErrContent) {
			return fmt.Errorf("delivered something else than %s: %w", r.name(path), err)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("the file breaks off: %w", err)
		}
		return err
	})
}

// refuse is an answer about the dataset that its author can mend.
func (r *reading) refuse(why string) error {
	return protocol.ErrInvalidSource.Detailf("The dataset %s is refused: %s.", r.source.RepoID, why).
		WithFields(protocol.FieldError{Field: "repo_id", Message: why})
}

// broken is an answer about something that the hub should not have said.
func (r *reading) broken(why string) error {
	return protocol.ErrSourceRefused.Detailf("The dataset %s cannot be read: %s.", r.source.RepoID, why)
}

// explain turns the hub's refusals into the arena's words (D14 to D18).
func (r *reading) explain(err error) error {
	e, ok := errors.AsType[*outbound.Error](err)
	if !ok || e.Err != nil {
		return away(r.what, err)
	}
	missing := func(field, why string) error {
		return protocol.ErrInvalidSource.Detailf("The dataset %s cannot be read: %s.", r.source.RepoID, why).
			WithFields(protocol.FieldError{Field: field, Message: why}).Because(err)
	}
	switch {
	case e.Code == "GatedRepo":
		return missing("repo_id", "it is gated; lift the gate so that everybody can read it")
	case e.Code == "RevisionNotFound":
		return missing("revision", fmt.Sprintf("it has no revision %q", r.source.Revision))
	case e.Code == "RepoNotFound", e.Status == http.StatusNotFound && e.Code == "":
		return missing("repo_id", "there is no such dataset, or it is not public")
	case e.Status == http.StatusNotFound:
		return protocol.ErrUnavailable.Detailf("The hub lists a file of the dataset %s that it does not deliver. Try again; if it persists, push the file again.", r.source.RepoID).After(without).Because(err)
	case e.Status == http.StatusUnauthorized && r.token == "":
		return missing("repo_id", "there is no such dataset, or it is not public")
	case e.Status == http.StatusUnauthorized:
		return protocol.ErrUnavailable.Detailf("The hub does not accept the arena's own token, so datasets cannot be read. An organizer has to renew it.").After(5 * time.Minute).Because(err)
	case e.Status == http.StatusForbidden, e.Status == http.StatusGone, e.Status == http.StatusUnavailableForLegalReasons:
		return missing("repo_id", "access to it is disabled on the hub")
	case e.Status == http.StatusBadRequest, e.Status == http.StatusUnprocessableEntity:
		return missing("revision", "the hub cannot read the request: "+e.Message)
	case e.Temporary():
		return away(r.what, err)
	default:
		return protocol.ErrSourceRefused.Detailf("The hub refuses to deliver the dataset %s: it answers %d.", r.source.RepoID, e.Status).Because(err)
	}
}
