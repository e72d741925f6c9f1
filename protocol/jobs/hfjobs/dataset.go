package hfjobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/outbound"
)

// Where things are in the runs dataset.
func inputDir(run string) string  { return "job-inputs/" + run }
func outputDir(run string) string { return "runs/" + run }

// branch is the branch of the runs dataset that everything is on.
const branch = "main"

// maxUploaded is how many files a job may leave.
const maxUploaded = 200_000

// dataset is an address below the runs dataset, with or without /api.
func (p *Provider) dataset(prefix string, segments ...string) string {
	s := p.options.URL + prefix + "/datasets"
	for _, segment := range append(strings.Split(p.options.RunsDataset, "/"), segments...) {
		if segment == "." || segment == ".." {
			segment = strings.ReplaceAll(segment, ".", "%2E")
		} else {
			segment = url.PathEscape(segment)
		}
		s += "/" + segment
	}
	return s
}

var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// head is the newest commit of the runs dataset. The dataset must be private: what
// is in it names sealed tasks.
func (p *Provider) head(ctx context.Context) (string, error) {
	var info struct {
		SHA     string `json:"sha"`
		Private bool   `json:"private"`
	}
	if err := p.get(ctx, "find the newest commit of the runs dataset", p.dataset("/api", "revision", branch), maxList, &info); err != nil {
		return "", err
	}
	if !info.Private {
		return "", fmt.Errorf("%w: the runs dataset %s is public; it would show sealed tasks, so make it private", jobs.ErrRefused, p.options.RunsDataset)
	}
	if !commitID.MatchString(info.SHA) {
		return "", errors.New("the hub names no commit of the runs dataset")
	}
	return info.SHA, nil
}

// tree lists the files below a directory at a commit, by their paths in it (D5).
func (p *Provider) tree(ctx context.Context, commit, dir string) (map[string]blobcache.Key, error) {
	first := p.dataset("/api", append([]string{"tree", commit}, strings.Split(dir, "/")...)...) + "?recursive=true&expand=false"
	origin, err := url.Parse(first)
	if err != nil {
		return nil, err
	}
	all := map[string]blobcache.Key{}
	for next, seen := first, map[string]bool{}; next != ""; {
		if seen[next] || len(seen) > maxUploaded/100 {
			return nil, errors.New("the listing of the runs dataset does not end")
		}
		seen[next] = true
		var rows []struct {
			Type string `json:"type"`
			Path string `json:"path"`
			OID  string `json:"oid"`
			Size int64  `json:"size"`
			LFS  *struct {
				OID  string `json:"oid"`
				Size int64  `json:"size"`
			} `json:"lfs"`
		}
		var link string
		err := p.client.Do(ctx, p.call("list "+dir+" in the runs dataset", http.MethodGet, next, nil), func(r *http.Response) error {
			link = nextLink(r.Header)
			rows = nil
			return outbound.JSON(r, maxList, &rows)
		})
		if e, ok := errors.AsType[*outbound.Error](err); ok && e.Status == http.StatusNotFound && e.Code == "EntryNotFound" {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.Type != "file" {
				continue
			}
			name, ok := strings.CutPrefix(row.Path, dir+"/")
			if !ok || !fs.ValidPath(name) || path.Clean(name) != name || !commitID.MatchString(row.OID) || row.Size < 0 {
				continue // what cannot be named cannot be read
			}
			k := blobcache.Key{Git: row.OID, Size: row.Size}
			if row.LFS != nil {
				k = blobcache.Key{SHA256: strings.TrimPrefix(row.LFS.OID, "sha256:"), Size: row.LFS.Size}
			}
			if all[name] = k; len(all) > maxUploaded {
				return nil, fmt.Errorf("the job left more than %d files", maxUploaded)
			}
		}
		if next, err = sameOrigin(origin, link); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Artifacts implements jobs.Provider: what is below the run's directory in the
// newest commit. Files are fetched when they are opened.
func (p *Provider) Artifacts(ctx context.Context, id string) (fs.FS, error) {
	job, err := p.Inspect(ctx, id)
	if err != nil {
		return nil, err
	}
	commit, err := p.head(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	dir := outputDir(job.Run)
	keys, err := p.tree(ctx, commit, dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", jobs.ErrUnreachable, err)
	}
	return newUploads(keys, p.options.Cache.FS(context.WithoutCancel(ctx), keys, func(ctx context.Context, name string, k blobcache.Key) error {
		segments := append([]string{"resolve", commit}, strings.Split(dir+"/"+name, "/")...)
		return p.client.Do(ctx, p.call("fetch "+name+" of the runs dataset", http.MethodGet, p.dataset("", segments...), nil), func(r *http.Response) error {
			return p.options.Cache.Put(k, r.Body)
		})
	})), nil
}
