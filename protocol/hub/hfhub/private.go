package hfhub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/outbound"
)

// Private is a private dataset at one commit, and which of its files to read.
type Private struct {
	RepoID string // NAMESPACE/NAME
	Commit string // 40 hex digits
	Path   string // directory inside it, with slashes; empty for the whole
	Token  string // one that may read it
	// Wanted says which files are read, by their path below Path; nil: all. When
	// First is among them, it alone is.
	Wanted func(path string) bool
	First  string
}

// Bounds of what is read of a private dataset.
const (
	maxPrivateFiles    = 200_000
	maxPrivateBytes    = 256 << 20
	privateConnections = 16
	privatePatience    = 2 * time.Minute
)

// ReadPrivate reads files of a private dataset into memory; its folders are there
// even when none of their files is wanted. Nothing of it reaches the disk, and no
// error names a file of it: those names may be as secret as what is in them.
//
// A dataset that is not private is refused. Its listing is open to everybody, and
// so it is when it is gated (D3).
func ReadPrivate(ctx context.Context, o Options, p Private) (fs.FS, error) {
	ctx, cancel := context.WithTimeout(ctx, privatePatience)
	defer cancel()
	r := &reading{
		Datasets: &Datasets{options: o, limits: DatasetLimits{Files: maxPrivateFiles}, client: o.client(), token: p.Token},
		source:   protocol.Source{RepoID: p.RepoID, Revision: p.Commit, EntryPath: strings.Trim(p.Path, "/")},
		what:     fmt.Sprintf("reading the private dataset %s", p.RepoID),
		name:     func(string) string { return "one of its files" },
	}
	files, err := r.intoMemory(ctx, p)
	if err != nil {
		return nil, r.explainPrivate(err)
	}
	return files, nil
}

func (r *reading) intoMemory(ctx context.Context, p Private) (fs.FS, error) {
	info, err := r.resolve(ctx)
	switch {
	case err != nil:
		return nil, err
	case info.Disabled:
		return nil, r.refuse("access to it is disabled on the hub")
	case !info.Private:
		return nil, r.refuse("it is not private, so that everybody can see what it holds; make it private")
	}
	if err := r.list(ctx); err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	below := func(path string) string { return strings.TrimPrefix(path, r.source.EntryPath+"/") }
	wanted, total := map[string]blobcache.Key{}, int64(0)
	for path, k := range r.keys {
		name := below(path)
		if name == p.First {
			clear(files)
			wanted, total = map[string]blobcache.Key{path: k}, k.Size
			break
		}
		if top, _, inFolder := strings.Cut(name, "/"); inFolder {
			files[top] = &fstest.MapFile{Mode: fs.ModeDir}
		}
		if p.Wanted == nil || p.Wanted(name) {
			wanted[path] = k
			total += k.Size
		}
	}
	if total > maxPrivateBytes {
		return nil, r.refuse(fmt.Sprintf("what is to be read of it is more than %d MiB", maxPrivateBytes>>20))
	}
	var mu sync.Mutex
	r.put = func(path string, k blobcache.Key, body io.Reader) error {
		content, err := k.Read(body)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			files[below(path)] = &fstest.MapFile{Data: content}
		}
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(privateConnections)
	for path, k := range wanted {
		group.Go(func() error { return r.fetch(ctx, path, k) })
	}
	return files, group.Wait()
}

// explainPrivate turns the hub's refusals into words for the organizer whose token
// it is (D14 to D17, D24).
func (r *reading) explainPrivate(err error) error {
	e, ok := errors.AsType[*outbound.Error](err)
	if !ok || e.Err != nil || e.Temporary() {
		return away(r.what, err)
	}
	because := func(why string) error {
		return protocol.ErrInvalidSource.Detailf("The private dataset %s cannot be read: %s.", r.source.RepoID, why).Because(err)
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return because("the hub does not accept the token: it has expired, was revoked or is mistyped")
	case e.Code == "RevisionNotFound":
		return because("it has no commit " + r.source.Revision)
	case e.Code == "RepoNotFound", e.Code == "GatedRepo", e.Code == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusForbidden):
		return because("there is no such dataset, or the token may not read it; a fine-grained token needs the right to read its contents")
	default:
		return r.explain(err)
	}
}
