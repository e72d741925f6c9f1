package blobcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// small is the size up to which bodies share a file. Making one costs a disk
	// more than all else that is done with a small body, and a collection has
	// thousands of them.
	small = 64 << 10
	// packExt ends the names of files that hold many bodies.
	packExt = ".pack"
	// headerBytes is the length of what precedes a body in a pack: its kind, its
	// hash padded to 32 bytes, its size.
	headerBytes = 1 + sha256.Size + 4
	// maxPack is the size at which a pack takes no more.
	maxPack = 32 << 20
)

// pack is a file of many bodies, one after the other. Bodies are only added, by
// the process that made it, so that a crash harms nothing but the last one.
type pack struct {
	name string
	file *os.File
	size int64
	used time.Time
}

// place is where in a pack a body is.
type place struct {
	pack *pack
	at   int64 // of the body, behind its header
	size int64
}

// id is a key as it stands in a pack.
type id struct {
	kind byte // 'g' or 's'
	sum  [sha256.Size]byte
}

func (k Key) id() (n id, err error) {
	text := k.Git
	if n.kind = 'g'; k.SHA256 != "" {
		n.kind, text = 's', k.SHA256
	}
	_, err = hex.Decode(n.sum[:], []byte(text))
	return n, err
}

// openPacks finds the bodies of the packs that earlier processes left. What one of
// them did not finish is the end of its pack, and is passed over.
func (c *Cache) openPacks() error {
	names, err := fs.Glob(c.root.FS(), "*"+packExt)
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := c.root.Open(name)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err != nil {
			return errors.Join(err, f.Close())
		}
		p := &pack{name: name, file: f, size: info.Size(), used: info.ModTime()}
		c.packs[name] = p
		if n, err := strconv.ParseUint(strings.TrimSuffix(name, packExt), 16, 32); err == nil {
			c.lastPack = max(c.lastPack, n)
		}
		header := make([]byte, headerBytes)
		for at := int64(0); at+headerBytes <= p.size; {
			if _, err := f.ReadAt(header, at); err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			n := id{kind: header[0], sum: [sha256.Size]byte(header[1:])}
			size := int64(binary.BigEndian.Uint32(header[1+sha256.Size:]))
			if at += headerBytes; n.kind != 'g' && n.kind != 's' || size > small || at+size > p.size {
				break
			}
			c.index[n] = place{p, at, size}
			at += size
		}
	}
	return nil
}

// packed finds a body in a pack.
func (c *Cache) packed(k Key) (place, bool) {
	n, err := k.id()
	if err != nil {
		return place{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	where, ok := c.index[n]
	return where, ok && where.size == k.Size
}

// getPacked opens a body of a pack, from memory.
func (c *Cache) getPacked(k Key) (fs.File, error) {
	where, ok := c.packed(k)
	if !ok {
		return nil, fs.ErrNotExist
	}
	raw, err := k.Read(io.NewSectionReader(where.pack.file, where.at, where.size))
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil { // damaged, or dropped meanwhile
		if n, err := k.id(); err == nil && c.index[n] == where {
			delete(c.index, n)
		}
		return nil, fs.ErrNotExist
	}
	where.pack.used = now
	return &memoryFile{bytes.NewReader(raw), k}, nil
}

// putPacked adds a body to the pack that is being filled.
func (c *Cache) putPacked(k Key, raw []byte) error {
	n, err := k.id()
	if err != nil {
		return err
	}
	now := c.now()
	record := append([]byte{n.kind}, n.sum[:]...)
	record = binary.BigEndian.AppendUint32(record, uint32(len(raw)))
	record = append(record, raw...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.index[n]; there {
		return nil
	}
	if c.filling == nil || c.filling.size >= min(maxPack, c.max/16) {
		if c.filling, err = c.newPack(); err != nil {
			return fmt.Errorf("cache a file: %w", err)
		}
	}
	p := c.filling
	if _, err := p.file.WriteAt(record, p.size); err != nil {
		return fmt.Errorf("cache a file: %w", err)
	}
	c.index[n] = place{p, p.size + headerBytes, k.Size}
	p.size += int64(len(record))
	p.used = now
	c.grow(int64(len(record)))
	return nil
}

// newPack makes an empty pack.
func (c *Cache) newPack() (*pack, error) {
	c.lastPack++
	name := fmt.Sprintf("%08x%s", c.lastPack, packExt)
	f, err := c.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	p := &pack{name: name, file: f}
	c.packs[name] = p
	return p, nil
}

// dropPack forgets a pack with all its bodies.
func (c *Cache) dropPack(p *pack) {
	for n, where := range c.index {
		if where.pack == p {
			delete(c.index, n)
		}
	}
	delete(c.packs, p.name)
	if c.filling == p {
		c.filling = nil
	}
	_ = p.file.Close() // nothing of it is wanted any more
}

// closePacks notes for the next process when each pack was used, and lets go of
// them.
func (c *Cache) closePacks() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.packs {
		_ = c.root.Chtimes(p.name, p.used, p.used)
		err = errors.Join(err, p.file.Close())
	}
	clear(c.packs)
	clear(c.index)
	c.filling = nil
	return err
}

// memoryFile is a body that is open. It is its own fs.FileInfo.
type memoryFile struct {
	*bytes.Reader
	key Key
}

// Stat implements fs.File.
func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }

// Close implements fs.File.
func (f *memoryFile) Close() error { return nil }

// Name implements fs.FileInfo: content has no name but its hash.
func (f *memoryFile) Name() string {
	name, _ := f.key.name() // it was opened by it
	return filepath.Base(name)
}

// Size implements fs.FileInfo.
func (f *memoryFile) Size() int64 { return f.key.Size }

// Mode implements fs.FileInfo.
func (f *memoryFile) Mode() fs.FileMode { return 0o400 }

// ModTime implements fs.FileInfo: content has no time.
func (f *memoryFile) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (f *memoryFile) IsDir() bool { return false }

// Sys implements fs.FileInfo.
func (f *memoryFile) Sys() any { return nil }
