// Package blobcache keeps file bodies from code hosts in a directory, by the hash
// of their content.
//
// What is kept under a hash never goes stale, so a validation that was cut off
// goes on where it stopped, and one file that many commits share is fetched once.
// Nothing enters that does not have the hash it was asked for by, and a file that
// the disk has damaged counts as missing. Small bodies share files, which are
// dropped as a whole. The cache is no state: it may be deleted while nobody uses
// it.
package blobcache

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Key names a body by its content.
type Key struct {
	Git    string // git blob id, 40 hex digits: SHA-1 over "blob SIZE", NUL and the content
	SHA256 string // 64 hex digits; for a body that git keeps elsewhere. Exactly one of both is set
	Size   int64  // bytes
}

var hexDigits = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// name is the file of a body; it begins with two digits that spread the files
// over folders.
func (k Key) name() (string, error) {
	id, kind := k.Git, "git"
	if k.SHA256 != "" {
		id, kind = k.SHA256, "sha256"
	}
	if !hexDigits.MatchString(id) || k.Size < 0 {
		return "", fmt.Errorf("%q is no hash of a file", id)
	}
	return filepath.Join(id[:2], id+"."+kind), nil
}

// hash starts the key's hash.
func (k Key) hash() (hash.Hash, string) {
	if k.SHA256 != "" {
		return sha256.New(), k.SHA256
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", k.Size)
	return h, k.Git
}

// Read reads a body to its end into memory, for one that must not be kept. It
// returns ErrContent when the body is another one than the key names.
func (k Key) Read(body io.Reader) ([]byte, error) {
	if _, err := k.name(); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(body, k.Size+1))
	if err != nil {
		return nil, err
	}
	if n := int64(len(raw)); n != k.Size {
		return nil, fmt.Errorf("%w: it has %d bytes where %d are listed", ErrContent, n, k.Size)
	}
	h, want := k.hash()
	_, _ = h.Write(raw) // a hash takes everything
	if hex.EncodeToString(h.Sum(nil)) != want {
		return nil, ErrContent
	}
	return raw, nil
}

// ErrContent says that a body is not the one that its key names.
var ErrContent = errors.New("the content does not have the hash that the listing says")

// memory is the size up to which a body is checked again when it is opened.
const memory = 4 << 20

// Cache is a directory of bodies. It is safe for concurrent use, by one process.
type Cache struct {
	root *os.Root
	max  int64
	now  func() time.Time

	mu       sync.Mutex
	used     int64 // bytes of all bodies, at least; counted anew before any is dropped
	packs    map[string]*pack
	index    map[id]place // bodies in packs
	filling  *pack        // the pack that takes more; nil: none yet
	lastPack uint64       // number of the newest pack
}

// Open opens the cache in a directory, which is made if missing, and removes what
// a crash left unfinished. It keeps at most max bytes, dropping what was not used
// for longest.
func Open(dir string, max int64, now func() time.Time) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for cached files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory for cached files: %w", err)
	}
	c := &Cache{root: root, max: max, now: now, packs: map[string]*pack{}, index: map[id]place{}}
	for _, f := range c.list() {
		if filepath.Ext(f.name) == unfinished {
			err = errors.Join(err, root.Remove(f.name))
			continue
		}
		c.used += f.size
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("remove unfinished cached files: %w", err), root.Close())
	}
	if err := c.openPacks(); err != nil {
		return nil, errors.Join(fmt.Errorf("open cached files: %w", err), c.Close())
	}
	return c, nil
}

// Close lets go of the directory.
func (c *Cache) Close() error { return errors.Join(c.closePacks(), c.root.Close()) }

// unfinished ends the names of files that are being written.
const unfinished = ".part"

type cached struct {
	name string
	size int64
	used time.Time
}

// list lists all files of the cache. What vanishes meanwhile is left out.
func (c *Cache) list() []cached {
	var all []cached
	_ = fs.WalkDir(c.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // a folder that vanished holds nothing
		}
		if info, err := d.Info(); err == nil {
			all = append(all, cached{name, info.Size(), info.ModTime()})
		}
		return nil
	})
	return all
}

// Has reports whether a body is there.
func (c *Cache) Has(k Key) bool {
	name, err := k.name()
	if err != nil {
		return false
	}
	if k.Size <= small {
		_, ok := c.packed(k)
		return ok
	}
	info, err := c.root.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() == k.Size
}

// Get opens a body; fs.ErrNotExist when it is not there, or no longer whole.
func (c *Cache) Get(k Key) (fs.File, error) {
	name, err := k.name()
	if err != nil {
		return nil, err
	}
	if k.Size <= small {
		return c.getPacked(k)
	}
	f, err := c.root.Open(name)
	if err != nil {
		return nil, err
	}
	if err := check(f, k); err != nil {
		return nil, errors.Join(fs.ErrNotExist, f.Close(), c.root.Remove(name))
	}
	c.touch(name)
	return f, nil
}

// touch notes that a body is in use, which only decides what is dropped first.
func (c *Cache) touch(name string) {
	now := c.now()
	_ = c.root.Chtimes(name, now, now)
}

func check(f *os.File, k Key) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != k.Size {
		return ErrContent
	}
	if k.Size > memory {
		return nil
	}
	h, want := k.hash()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != want {
		return ErrContent
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// Put reads a body to its end and keeps it. It returns ErrContent when the body
// is whole but another one, and what reading says when it breaks off; then
// nothing is kept.
func (c *Cache) Put(k Key, body io.Reader) (err error) {
	name, err := k.name()
	if err != nil {
		return err
	}
	if k.Size <= small {
		raw, err := k.Read(body)
		if err != nil {
			return err
		}
		return c.putPacked(k, raw)
	}
	part, f, err := c.create(name)
	if errors.Is(err, fs.ErrNotExist) { // the first of its folder
		if err := c.root.Mkdir(filepath.Dir(name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cache a file: %w", err)
		}
		part, f, err = c.create(name)
	}
	if err != nil {
		return fmt.Errorf("cache a file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = c.root.Remove(part)
		}
	}()
	h, want := k.hash()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(body, k.Size+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if n != k.Size {
		return fmt.Errorf("%w: it has %d bytes where %d are listed", ErrContent, n, k.Size)
	}
	if hex.EncodeToString(h.Sum(nil)) != want {
		return ErrContent
	}
	if err := c.root.Rename(part, name); err != nil {
		return fmt.Errorf("cache a file: %w", err)
	}
	c.touch(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grow(k.Size)
	return nil
}

// create makes a file that nobody else writes to.
func (c *Cache) create(name string) (string, *os.File, error) {
	for n := 0; ; n++ {
		part := fmt.Sprintf("%s.%d%s", name, n, unfinished)
		f, err := c.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if n < 100 && errors.Is(err, fs.ErrExist) {
			continue
		}
		return part, f, err
	}
}

// grow counts what was added and drops what was not used for longest when it is
// too much. The lock is held.
func (c *Cache) grow(size int64) {
	if c.used += size; c.used <= c.max {
		return
	}
	all := c.list()
	c.used = 0
	for i, f := range all {
		c.used += f.size
		if p := c.packs[f.name]; p != nil {
			all[i].used = p.used
		}
	}
	slices.SortFunc(all, func(a, b cached) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, f := range all {
		if c.used <= c.max/10*9 {
			return
		}
		if filepath.Ext(f.name) == unfinished || c.root.Remove(f.name) != nil {
			continue
		}
		c.used -= f.size
		if p := c.packs[f.name]; p != nil {
			c.dropPack(p)
		}
	}
}

// Fetch gets one body from where it lives into the cache.
type Fetch func(ctx context.Context, path string, k Key) error

// Fill fetches what is missing of some files, several at once and each content
// once. It stops at the first failure; what has arrived by then stays.
func (c *Cache) Fill(ctx context.Context, files map[string]Key, atOnce int, fetch Fetch) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for path, k := range c.Missing(files) {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return fetch(ctx, path, k) })
	}
	return group.Wait()
}

// Missing is those of some files that are not in the cache: of each content one.
func (c *Cache) Missing(files map[string]Key) map[string]Key {
	missing, seen := map[string]Key{}, map[Key]bool{}
	for path, k := range files {
		if !seen[k] && !c.Has(k) {
			missing[path] = k
		}
		seen[k] = true
	}
	return missing
}

// FS shows files by their paths. One that is not in the cache, any more or yet,
// is fetched when it is opened; ctx bounds how long that may take.
func (c *Cache) FS(ctx context.Context, files map[string]Key, fetch Fetch) fs.FS {
	return &view{ctx: ctx, cache: c, files: files, fetch: fetch}
}

// view is a listing over the cache. Its context is that of a snapshot: opening a
// file is reading from the code host.
type view struct {
	ctx   context.Context
	cache *Cache
	files map[string]Key
	fetch Fetch
}

// Open implements fs.FS for regular files.
func (v *view) Open(name string) (fs.File, error) {
	k, ok := v.files[name]
	if !fs.ValidPath(name) || !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := v.cache.Get(k)
	if errors.Is(err, fs.ErrNotExist) {
		if err = v.fetch(v.ctx, name, k); err == nil {
			f, err = v.cache.Get(k)
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}
