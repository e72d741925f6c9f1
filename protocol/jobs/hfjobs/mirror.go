package hfjobs

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/blobcache"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/outbound"
)

const (
	// maxMirrored bounds one file, and maxCommitFiles and maxCommitBytes what one
	// commit carries in its body.
	maxMirrored    = 256 << 20
	maxCommitFiles = 200
	maxCommitBytes = 16 << 20
	// commitTries is how often a commit is tried on top of what others have
	// committed meanwhile.
	commitTries = 5
)

// Mirror implements jobs.Mirror: a copy below submissions/COLLECTION/REVISION.
func (p *Provider) Mirror(ctx context.Context, collection string, source protocol.Source, paths []string, files fs.FS) (protocol.Source, error) {
	dir := "submissions/" + collection + "/" + source.Revision
	items, err := gather(source.EntryPath, paths, files)
	if err != nil {
		return protocol.Source{}, preparing(err)
	}
	commit, err := p.keep(ctx, dir, items, fmt.Sprintf("Collection %s at %s", collection, source.Revision))
	if err != nil {
		return protocol.Source{}, preparing(err)
	}
	return protocol.Source{RepoType: protocol.RepoDataset, RepoID: p.options.RunsDataset, Revision: commit, EntryPath: dir}, nil
}

// storeInput stores what a run's job reads and returns the commit.
func (p *Provider) storeInput(ctx context.Context, spec jobs.Spec) (string, error) {
	about, err := json.Marshal(map[string]any{"schema_version": 1, "run_id": spec.Run, "config": "config.toml", "artifact_repo": p.options.RunsDataset, "artifact_path": outputDir(spec.Run), "private_artifacts": true})
	if err != nil {
		return "", err
	}
	items := []item{newItem("config.toml", spec.Config), newItem("job.json", append(about, '\n'))}
	for _, name := range slices.Sorted(maps.Keys(spec.Files)) {
		items = append(items, newItem(name, spec.Files[name]))
	}
	return p.keep(ctx, inputDir(spec.Run), items, "Input of run "+spec.Run)
}

// item is one file on its way into the dataset.
type item struct {
	name string // within the directory
	data []byte
	git  string // id as a git blob
	hash string // SHA-256
}

func newItem(name string, data []byte) item {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	sum := sha256.Sum256(data)
	return item{name: name, data: data, git: hex.EncodeToString(h.Sum(nil)), hash: hex.EncodeToString(sum[:])}
}

// same reports whether the dataset has the file.
func (i item) same(k blobcache.Key) bool {
	if k.SHA256 != "" {
		return k.SHA256 == i.hash
	}
	return k.Git == i.git
}

// keep makes a directory of the runs dataset have exactly these files, and returns
// a commit at which it has. A commit that was not confirmed may have been made
// (D21), so what the dataset holds is read again before each try; nothing is
// committed when it is all there.
func (p *Provider) keep(ctx context.Context, dir string, items []item, summary string) (string, error) {
	for try := 1; ; try++ {
		head, err := p.head(ctx)
		if err != nil {
			return "", err
		}
		there, err := p.tree(ctx, head, dir)
		if err != nil {
			return "", err
		}
		var missing []item
		for _, i := range items {
			if k, ok := there[i.name]; !ok || !i.same(k) {
				missing = append(missing, i)
			}
			delete(there, i.name)
		}
		stale := slices.Sorted(maps.Keys(there))
		if len(missing) == 0 && len(stale) == 0 {
			return head, nil
		}
		missing = portion(missing)
		err = p.commit(ctx, head, dir, missing, stale, summary)
		switch e, answered := errors.AsType[*outbound.Error](err); {
		case err == nil:
			try = 0 // it gets on; a further portion may follow
		case !answered, try >= commitTries, e.Err == nil && refusal(e.Status) && e.Status != http.StatusPreconditionFailed:
			return "", err
		case e.Status != http.StatusPreconditionFailed: // open: see what has become of it
			if err := p.sleep(ctx, time.Duration(try)*time.Second); err != nil {
				return "", err
			}
		}
	}
}

// gather reads the files of a collection, named as below its entry path.
func gather(entry string, paths []string, files fs.FS) ([]item, error) {
	var all []item
	for _, at := range paths {
		name := at
		if entry != "" {
			var below bool
			if name, below = strings.CutPrefix(at, entry+"/"); !below {
				continue
			}
		}
		data, err := readFile(files, at)
		if err != nil {
			return nil, fmt.Errorf("read %s of the collection: %w", at, err)
		}
		if len(data) > maxMirrored {
			return nil, fmt.Errorf("%w: %s is larger than the %d bytes that are copied for a job", jobs.ErrRefused, at, maxMirrored)
		}
		all = append(all, newItem(name, data))
	}
	return all, nil
}

func readFile(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxMirrored+1))
}

// portion takes as many files as one commit carries, at least one.
func portion(items []item) []item {
	size := 0
	for n, i := range items {
		if size += len(i.data); n > 0 && (n == maxCommitFiles || size > maxCommitBytes) {
			return items[:n]
		}
	}
	return items
}

// commit adds files to a directory and takes others away, on top of a commit (D20).
func (p *Provider) commit(ctx context.Context, parent, dir string, add []item, remove []string, summary string) error {
	large, err := p.preupload(ctx, dir, add)
	if err != nil {
		return err
	}
	if err := p.upload(ctx, large); err != nil {
		return err
	}
	var body bytes.Buffer
	line := func(key string, value map[string]any) {
		raw, _ := json.Marshal(map[string]any{"key": key, "value": value}) // strings and numbers always encode
		body.Write(append(raw, '\n'))
	}
	line("header", map[string]any{"summary": summary, "description": "", "parentCommit": parent})
	for _, i := range add {
		if slices.ContainsFunc(large, func(l item) bool { return l.name == i.name }) {
			line("lfsFile", map[string]any{"path": dir + "/" + i.name, "algo": "sha256", "oid": i.hash, "size": len(i.data)})
			continue
		}
		line("file", map[string]any{"path": dir + "/" + i.name, "content": base64.StdEncoding.EncodeToString(i.data), "encoding": "base64"})
	}
	for _, name := range remove {
		line("deletedFile", map[string]any{"path": dir + "/" + name})
	}
	call := p.call("commit "+dir+" to the runs dataset", http.MethodPost, p.dataset("/api", "commit", branch), body.Bytes())
	call.Header.Set("Content-Type", "application/x-ndjson")
	call.Once, call.Timeout = true, 4*p.options.Timeout
	return p.client.Do(ctx, call, func(r *http.Response) error {
		var made struct {
			Commit string `json:"commitOid"`
		}
		if err := outbound.JSON(r, maxJob, &made); err != nil {
			return err
		}
		if !commitID.MatchString(made.Commit) {
			return errors.New("it names no commit")
		}
		return nil
	})
}

// preupload asks which files must not go into git, and returns those (D19). Sending
// an empty gitIgnore keeps the dataset's own from dropping files in silence.
func (p *Provider) preupload(ctx context.Context, dir string, add []item) ([]item, error) {
	if len(add) == 0 {
		return nil, nil
	}
	var files []map[string]any
	for _, i := range add {
		files = append(files, map[string]any{"path": dir + "/" + i.name, "size": len(i.data), "sample": base64.StdEncoding.EncodeToString(i.data[:min(512, len(i.data))])})
	}
	body, err := json.Marshal(map[string]any{"files": files, "gitIgnore": ""})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Files []struct {
			Path   string `json:"path"`
			Mode   string `json:"uploadMode"`
			Ignore bool   `json:"shouldIgnore"`
		} `json:"files"`
	}
	if err := p.client.Do(ctx, p.call("ask how to upload "+dir, http.MethodPost, p.dataset("/api", "preupload", branch), body), func(r *http.Response) error {
		return outbound.JSON(r, maxList, &answer)
	}); err != nil {
		return nil, err
	}
	var large []item
	for _, f := range answer.Files {
		if f.Ignore {
			return nil, fmt.Errorf("%w: the runs dataset would leave out %s", jobs.ErrRefused, f.Path)
		}
		for _, i := range add {
			if f.Mode == "lfs" && len(i.data) > 0 && f.Path == dir+"/"+i.name {
				large = append(large, i)
			}
		}
	}
	return large, nil
}

// lfsType is the content type of the LFS interface.
const lfsType = "application/vnd.git-lfs+json"

// upload brings files to where the hub keeps large ones (D22).
func (p *Provider) upload(ctx context.Context, large []item) error {
	if len(large) == 0 {
		return nil
	}
	byHash := map[string]item{}
	var objects []map[string]any
	for _, i := range large {
		if _, twice := byHash[i.hash]; !twice {
			objects = append(objects, map[string]any{"oid": i.hash, "size": len(i.data)})
		}
		byHash[i.hash] = i
	}
	body, err := json.Marshal(map[string]any{"operation": "upload", "transfers": []string{"basic"}, "hash_algo": "sha256", "objects": objects})
	if err != nil {
		return err
	}
	type action struct {
		Href   string            `json:"href"`
		Header map[string]string `json:"header"`
	}
	var answer struct {
		Transfer string `json:"transfer"`
		Objects  []struct {
			OID     string `json:"oid"`
			Actions struct {
				Upload *action `json:"upload"`
				Verify *action `json:"verify"`
			} `json:"actions"`
			Error *struct {
				Message string `json:"message"`
			} `json:"error"`
		} `json:"objects"`
	}
	git := p.dataset("") + ".git/info/lfs/objects/batch"
	call := p.call("ask where large files go", http.MethodPost, git, body)
	call.Header = http.Header{"Accept": {lfsType}, "Content-Type": {lfsType}}
	if err := p.client.Do(ctx, call, func(r *http.Response) error { return outbound.JSON(r, maxList, &answer) }); err != nil {
		return err
	}
	if answer.Transfer != "" && answer.Transfer != "basic" {
		return fmt.Errorf("%w: the hub wants large files by the transfer %q", jobs.ErrRefused, oneLine(answer.Transfer))
	}
	for _, o := range answer.Objects {
		i, ours := byHash[o.OID]
		switch {
		case o.Error != nil:
			return fmt.Errorf("%w: the hub does not take a large file: %s", jobs.ErrRefused, oneLine(o.Error.Message))
		case !ours || o.Actions.Upload == nil: // it is there
			continue
		}
		put := outbound.Call{Doing: "upload " + i.name, Method: http.MethodPut, URL: o.Actions.Upload.Href, Header: http.Header{}, Body: i.data, Timeout: 10 * p.options.Timeout}
		for name, value := range o.Actions.Upload.Header {
			if !strings.EqualFold(name, "Authorization") || p.options.Token == "" || !strings.Contains(value, p.options.Token) {
				put.Header.Set(name, value)
			}
		}
		if err := p.client.Do(ctx, put, func(*http.Response) error { return nil }); err != nil {
			return err
		}
		if v := o.Actions.Verify; v != nil {
			if !strings.HasPrefix(v.Href, p.options.URL+"/") {
				return fmt.Errorf("%w: the hub has uploads confirmed on another server", jobs.ErrRefused)
			}
			body, err := json.Marshal(map[string]any{"oid": i.hash, "size": len(i.data)})
			if err != nil {
				return err
			}
			verify := p.call("confirm the upload of "+i.name, http.MethodPost, v.Href, body)
			verify.Header.Set("Content-Type", lfsType)
			if err := p.client.Do(ctx, verify, func(*http.Response) error { return nil }); err != nil {
				return err
			}
		}
	}
	return nil
}
