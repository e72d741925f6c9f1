// Package github reads public GitHub repositories: two API calls for the commit
// and its listing, one tarball for the bodies, each verified by its git blob id.
//
// The raw host limits by address and is asked only for what a tarball leaves out.
// The facts are those of reference/hub-apis.md, section G.
package github

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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
	"syscall"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/outbound"
)

// Options is where GitHub is and what may be read of it.
type Options struct {
	API       string            // such as https://api.github.com
	Archives  string            // such as https://codeload.github.com
	Raw       string            // such as https://raw.githubusercontent.com
	Transport http.RoundTripper // nil for one of its own
	UserAgent string            // product/version
	Now       func() time.Time
	// Sleep waits between tries; nil for the real clock.
	Sleep    func(ctx context.Context, d time.Duration) error
	Timeout  time.Duration // of one try; 0 for a default of each kind
	Patience time.Duration // for opening one snapshot; 0: two minutes
	Files    int           // that a listing may have
	Ahead    int64         // size of the files that are fetched before anybody opens them, in bytes
	// Check refuses a listing before anything of it is fetched; nil takes every one.
	Check func([]protocol.TreeFile) error
	// Token is the arena's own and may be empty. One that sees private
	// repositories must not be used: the arena could not tell them apart (G9).
	Token string
}

// Bounds of what is read.
const (
	maxTree    = 64 << 20 // a listing; GitHub stops at 7 MB
	maxArchive = 2 << 30  // an unpacked tarball, in bytes
	maxSingles = 60       // files that a tarball may leave out
	atOnce     = 4        // requests to the raw host
)

// Repositories opens public repositories as sources. It implements hub.Host.
type Repositories struct {
	Options
	client *outbound.Client
	cache  *blobcache.Cache
}

// New makes the source.
func New(o Options, cache *blobcache.Cache) *Repositories {
	if o.Transport == nil {
		o.Transport = outbound.NewTransport(atOnce)
	}
	if o.Patience <= 0 {
		o.Patience = 2 * time.Minute
	}
	return &Repositories{Options: o, cache: cache, client: &outbound.Client{
		Transport: o.Transport, UserAgent: o.UserAgent, Now: o.Now, Sleep: o.Sleep,
		Pauses: []time.Duration{time.Second, 3 * time.Second}, MaxWait: 5 * time.Second, Judge: judge,
	}}
}

// secondary is the wait for a limit that does not say how long (G17).
const secondary = 60 * time.Second

// judge tells limits from other refusals (G16, G17).
func judge(e *outbound.Error) {
	if e.Status != http.StatusForbidden && e.Status != http.StatusTooManyRequests {
		return
	}
	var body struct {
		Documentation string `json:"documentation_url"`
	}
	_ = json.Unmarshal(e.Body, &body) // a body that is not JSON names no limit
	asked := e.Header.Get("Retry-After") != ""
	switch {
	case e.Header.Get("X-Ratelimit-Remaining") == "0":
		e.Limit = fmt.Sprintf("GitHub's limit of %s requests an hour", number(e.Header.Get("X-Ratelimit-Limit")))
		if reset, err := strconv.ParseInt(e.Header.Get("X-Ratelimit-Reset"), 10, 64); err == nil && !asked {
			e.Wait = e.Until(reset) + time.Second
			return
		}
	case asked, e.Status == http.StatusTooManyRequests, strings.Contains(body.Documentation, "secondary-rate-limits"), strings.Contains(body.Documentation, "abuse-rate-limits"):
		e.Limit = "GitHub's limit on bursts of requests"
	default:
		return
	}
	if e.Wait == 0 {
		e.Wait = secondary
	}
}

// number is a header that must be a number, for a sentence.
func number(header string) string {
	if n, err := strconv.Atoi(header); err == nil {
		return strconv.Itoa(n)
	}
	return "a few"
}

// Open resolves the revision, lists the files below the entry path, and fetches
// those that gates read.
func (g *Repositories) Open(ctx context.Context, s protocol.Source) (*hub.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, g.Patience)
	defer cancel()
	r := &reading{Repositories: g, source: s, what: "reading the repository " + s.RepoID, keys: map[string]blobcache.Key{}}
	for _, step := range []func(context.Context) error{r.resolve, r.list, r.ahead, r.noPointers} {
		if err := step(ctx); err != nil {
			return nil, r.explain(err)
		}
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	late := func(ctx context.Context, path string, k blobcache.Key) error {
		return r.explain(r.single(ctx, path, k))
	}
	return &hub.Snapshot{
		Commit: r.commit, Entries: r.entries, Files: g.cache.FS(life, r.keys, late),
		Close: func() error { end(); return nil },
	}, nil
}

// reading is one repository being read.
type reading struct {
	*Repositories
	source  protocol.Source
	what    string
	commit  string
	entries []protocol.TreeFile
	keys    map[string]blobcache.Key // of the files that have a body, by path
}

// at builds a URL from a base and segments, each escaped as one (G2: %2F).
func at(base string, segments ...string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(base, "/"))
	for _, s := range segments {
		b.WriteByte('/')
		if s == "." || s == ".." {
			s = strings.ReplaceAll(s, ".", "%2E")
		} else {
			s = url.PathEscape(s)
		}
		b.WriteString(s)
	}
	return b.String()
}

// repo is the URL of something about the repository, below a base.
func (r *reading) repo(base string, before []string, after ...string) string {
	segments := append(append([]string{}, before...), strings.Split(r.source.RepoID, "/")...)
	return at(base, append(segments, after...)...)
}

func (r *reading) api(ctx context.Context, doing, address, media string, read func(*http.Response) error) error {
	return r.client.Do(ctx, outbound.Call{
		Doing: r.what + ": " + doing, URL: address, Token: r.Token, Timeout: r.Timeout,
		Header: http.Header{"Accept": {media}, "X-Github-Api-Version": {"2022-11-28"}},
	}, read)
}

var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// resolve turns the revision into a commit: the first API call (G2).
func (r *reading) resolve(ctx context.Context) error {
	address := r.repo(r.API, []string{"repos"}, "commits", r.source.Revision)
	return r.api(ctx, "find revision "+r.source.Revision, address, "application/vnd.github.sha", func(resp *http.Response) error {
		raw, err := outbound.All(resp, 1<<10)
		if err != nil {
			return err
		}
		r.commit = strings.TrimSpace(string(raw))
		if !commitID.MatchString(r.commit) || commitID.MatchString(r.source.Revision) && r.commit != r.source.Revision {
			return errors.New("it names no commit of this revision")
		}
		return nil
	})
}

// list reads the listing: the second API call (G3 to G7).
func (r *reading) list(ctx context.Context) error {
	var tree struct {
		Truncated bool `json:"truncated"`
		Tree      []struct {
			Path string `json:"path"`
			Mode string `json:"mode"`
			SHA  string `json:"sha"`
			Size int64  `json:"size"`
		} `json:"tree"`
	}
	address := r.repo(r.API, []string{"repos"}, "git", "trees", r.commit) + "?recursive=1"
	if err := r.api(ctx, "list its files", address, "application/vnd.github+json", func(resp *http.Response) error {
		return outbound.JSON(resp, maxTree, &tree)
	}); err != nil {
		return err
	}
	if tree.Truncated {
		return r.refuse("repo_id", "it has so many files that GitHub cuts its listing; move the collection to a repository of its own")
	}
	below := r.source.EntryPath + "/"
	for _, e := range tree.Tree {
		if r.source.EntryPath != "" && !strings.HasPrefix(e.Path, below) || e.Mode == "040000" {
			continue
		}
		f := protocol.TreeFile{Path: e.Path, Size: e.Size, Blob: e.SHA, Kind: protocol.FileRegular}
		switch e.Mode {
		case "100644":
		case "100755":
			f.Kind = protocol.FileExecutable
		case "120000":
			f.Kind = protocol.FileSymlink
		case "160000":
			f.Kind = protocol.FileSubmodule
		default:
			return r.broken(fmt.Sprintf("its listing has an entry of the unknown mode %.20q", e.Mode))
		}
		if e.Path == "" || !commitID.MatchString(e.SHA) || e.Size < 0 || strings.ContainsRune(e.Path, '\uFFFD') {
			return r.broken(fmt.Sprintf("its listing has an entry that cannot be read (%.80q)", e.Path))
		}
		if len(r.entries) >= r.Files {
			return r.refuse("repo_id", fmt.Sprintf("it has more than %d files", r.Files))
		}
		r.entries = append(r.entries, f)
		if f.Kind == protocol.FileRegular || f.Kind == protocol.FileExecutable {
			r.keys[f.Path] = blobcache.Key{Git: f.Blob, Size: f.Size}
		}
	}
	if r.Check == nil {
		return nil
	}
	return r.Check(r.entries)
}

// ahead fetches what gates read: all of it from one tarball, and singly what that
// leaves out or changes (G13, G14).
func (r *reading) ahead(ctx context.Context) error {
	wanted := map[string]blobcache.Key{}
	for path, k := range r.keys {
		if k.Size <= r.Ahead {
			wanted[path] = k
		}
	}
	if len(r.cache.Missing(wanted)) == 0 {
		return nil
	}
	err := r.client.Do(ctx, outbound.Call{
		Doing: r.what + ": fetch its tarball", URL: r.repo(r.Archives, nil, "tar.gz", r.commit), Timeout: max(r.Timeout, r.Patience),
	}, func(resp *http.Response) error { return r.unpack(resp.Body, wanted) })
	if err != nil {
		return err
	}
	missing := r.cache.Missing(wanted)
	if len(missing) > maxSingles {
		return r.refuse("repo_id", fmt.Sprintf("its .gitattributes keep %d files out of its tarball or change them; remove export-ignore and export-subst", len(missing)))
	}
	return r.cache.Fill(ctx, wanted, atOnce, r.single)
}

// unpack takes the wanted files out of a tarball. Whatever else is in it is passed
// over: only names from the listing count, and only their own content (G15).
func (r *reading) unpack(body io.Reader, wanted map[string]blobcache.Key) error {
	pending := map[blobcache.Key]bool{}
	for _, k := range r.cache.Missing(wanted) {
		pending[k] = true
	}
	z, err := gzip.NewReader(body)
	if err != nil {
		return fmt.Errorf("its tarball cannot be unpacked: %w", err)
	}
	limited := &io.LimitedReader{R: z, N: maxArchive}
	t := tar.NewReader(limited)
	for len(pending) > 0 {
		h, err := t.Next()
		switch {
		case limited.N <= 0:
			return outbound.Final(r.refuse("repo_id", fmt.Sprintf("its files are more than %d MiB; move the collection to a repository of its own", maxArchive>>20)))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("its tarball breaks off: %w", err)
		case h.Typeflag == tar.TypeXGlobalHeader:
			if c := h.PAXRecords["comment"]; c != "" && c != r.commit {
				return errors.New("its tarball is of another commit")
			}
			continue
		}
		_, path, _ := strings.Cut(h.Name, "/")
		k, ok := wanted[path]
		if h.Typeflag != tar.TypeReg || !ok || !pending[k] || h.Size != k.Size {
			continue
		}
		err = r.cache.Put(k, t)
		switch {
		case errors.Is(err, blobcache.ErrContent): // changed by export-subst
		case err != nil:
			return fmt.Errorf("its tarball breaks off: %w", err)
		default:
			delete(pending, k)
		}
	}
	return nil
}

// single fetches one file from the raw host.
func (r *reading) single(ctx context.Context, path string, k blobcache.Key) error {
	return r.client.Do(ctx, outbound.Call{
		Doing: fmt.Sprintf("%s: fetch %q", r.what, path), URL: r.repo(r.Raw, nil, append([]string{r.commit}, strings.Split(path, "/")...)...),
		Timeout: max(r.Timeout, 30*time.Second+time.Duration(k.Size>>18)*time.Second),
	}, func(resp *http.Response) error { return r.cache.Put(k, resp.Body) })
}

// maxPointer bounds the size of a Git LFS pointer, in bytes.
const maxPointer = 1024

// noPointers refuses files whose content is elsewhere: GitHub delivers the text of
// Git LFS pointers in their place.
func (r *reading) noPointers(context.Context) error {
	for path, k := range r.keys {
		if k.Size < 100 || k.Size > maxPointer || k.Size > r.Ahead {
			continue
		}
		f, err := r.cache.Get(k)
		if err != nil {
			continue // dropped from the cache meanwhile; whoever opens it fetches it again
		}
		text, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("read the cached file %q: %w", path, err)
		}
		if bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/")) && bytes.Contains(text, []byte("\noid sha256:")) {
			return r.refuse("repo_id", fmt.Sprintf("%q is in Git LFS, which the arena does not read from GitHub; commit the file itself, or use a dataset", path))
		}
	}
	return nil
}

// refuse is an answer about the repository that its author can mend.
func (r *reading) refuse(field, why string) error {
	return protocol.ErrInvalidSource.Detailf("The repository %s is refused: %s.", r.source.RepoID, why).
		WithFields(protocol.FieldError{Field: field, Message: why})
}

// broken is an answer about something that GitHub should not have said.
func (r *reading) broken(why string) error {
	return protocol.ErrSourceRefused.Detailf("The repository %s cannot be read: %s.", r.source.RepoID, why)
}

// explain turns GitHub's refusals into the arena's words (G19).
func (r *reading) explain(err error) error {
	e, ok := errors.AsType[*outbound.Error](err)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return protocol.ErrDiskFull.Because(err)
	case !ok && errors.Is(err, context.DeadlineExceeded):
		return protocol.ErrUnavailable.Detailf("GitHub takes too long for %s. What was read so far is kept; try again.", r.what).After(5 * time.Second).Because(err)
	case !ok:
		return err
	}
	mend := func(field, why string) error {
		return protocol.ErrInvalidSource.Detailf("The repository %s cannot be read: %s.", r.source.RepoID, why).
			WithFields(protocol.FieldError{Field: field, Message: why}).Because(err)
	}
	wait := e.Wait
	if wait == 0 {
		wait = 30 * time.Second
	}
	switch {
	case e.Limit != "":
		return protocol.ErrUnavailable.Detailf("%s stops the arena from %s. It resets in %s; try again then. What was read so far is kept.", e.Limit, r.what, wait.Round(time.Second)).After(wait).Because(err)
	case e.Err != nil && e.Status/100 == 2:
		return protocol.ErrUnavailable.Detailf("GitHub's answer is of no use for %s: %s. Try again; if it persists, tell an organizer.", r.what, e.Err).After(wait).Because(err)
	case e.Temporary():
		return protocol.ErrUnavailable.Detailf("GitHub cannot be reached for %s right now%s. Nothing was changed; try again in %s.", r.what, e.Because(), wait).After(wait).Because(err)
	case e.Status == http.StatusUnauthorized:
		return protocol.ErrUnavailable.Detailf("GitHub does not accept the arena's own token, so repositories cannot be read. An organizer has to renew it.").After(5 * time.Minute).Because(err)
	case e.Status == http.StatusNotFound:
		return mend("repo_id", "there is no such repository, or it is not public")
	case e.Status == http.StatusConflict:
		return mend("repo_id", "it has no commits")
	case e.Status == http.StatusUnprocessableEntity:
		return mend("revision", fmt.Sprintf("it has no revision %q", r.source.Revision))
	case e.Status == http.StatusUnavailableForLegalReasons, e.Status == http.StatusGone:
		return mend("repo_id", "it was taken down")
	default:
		return protocol.ErrSourceRefused.Detailf("GitHub refuses to deliver the repository %s: it answers %d.", r.source.RepoID, e.Status).Because(err)
	}
}
