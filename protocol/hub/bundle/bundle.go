// Package bundle receives collections that a client uploads as a tar stream.
//
// The bodies of a stream go one after another into a single temporary file, and
// its names into an index in memory alone: no path of an upload ever reaches the
// file system. The snapshot's commit is the git tree id of the content: the same
// directory always pins the same, whoever packed it and when.
package bundle

import (
	"archive/tar"
	"bufio"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
)

// Receiver keeps uploads in Dir while they are read.
type Receiver struct {
	Dir    string // for temporary files; empty for the system's
	Limits task.Limits
}

// Receive reads a tar stream, plain or gzipped, and returns it as a snapshot
// whose Close removes the temporary file. What is wrong with the stream is a
// protocol.ErrInvalidSource that names the entry; nothing of it stays behind.
func (r Receiver) Receive(ctx context.Context, stream io.Reader) (*hub.Snapshot, error) {
	f, err := os.CreateTemp(r.Dir, "bundle-")
	if err != nil {
		return nil, explain(fmt.Errorf("make a file for the upload: %w", err))
	}
	release := func() error { return errors.Join(f.Close(), os.Remove(f.Name())) }
	snapshot, err := r.read(ctx, f, stream)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	snapshot.Close = release
	return snapshot, nil
}

func (r Receiver) read(ctx context.Context, f *os.File, stream io.Reader) (*hub.Snapshot, error) {
	plain, err := uncompressed(stream)
	if err != nil {
		return nil, err
	}
	u := unpacker{
		spool: spool{f, map[string]*body{".": nil}}, limits: r.Limits, git: sha1.New(),
		out: bufio.NewWriterSize(struct{ io.Writer }{f}, 64<<10), // File.ReadFrom would go past the buffer
	}
	if err := u.unpack(ctx, plain); err != nil {
		return nil, err
	}
	entries := make([]task.Entry, 0, len(u.bodies))
	for _, b := range u.bodies {
		if b != nil {
			entries = append(entries, b.Entry)
		}
	}
	return snapshot(task.NewTree(u.spool, entries, r.Limits))
}

// Snapshot reads a directory as a bundle: its listing, and as its commit the
// git tree id of the content.
func Snapshot(files fs.FS, limits task.Limits) (*hub.Snapshot, error) {
	return snapshot(task.ReadTree(files, limits))
}

func snapshot(tree task.Tree, err error) (*hub.Snapshot, error) {
	if err != nil {
		if te, ok := errors.AsType[*task.TreeError](err); ok {
			return nil, refuse("%s", te.Error())
		}
		return nil, err
	}
	if len(tree.Entries) == 0 {
		return nil, refuse("it holds no files")
	}
	id, err := task.GitTreeID(tree.Entries)
	if err != nil {
		return nil, fmt.Errorf("compute the upload's git tree id: %w", err)
	}
	return &hub.Snapshot{Commit: id, Files: tree.Files, Entries: listing(tree.Entries)}, nil
}

func listing(entries []task.Entry) []protocol.TreeFile {
	out := make([]protocol.TreeFile, 0, len(entries))
	for _, e := range entries {
		f := protocol.TreeFile{Path: e.Path, Size: e.Size, Blob: e.Blob, Kind: protocol.FileRegular}
		switch {
		case e.Kind == task.Symlink:
			f.Kind = protocol.FileSymlink
		case e.Kind == task.Submodule:
			f.Kind = protocol.FileSubmodule
		case e.Executable:
			f.Kind = protocol.FileExecutable
		}
		out = append(out, f)
	}
	return out
}

// uncompressed returns the tar stream itself, which gzip may wrap.
func uncompressed(stream io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(stream, 64<<10)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, refuse("the gzip stream cannot be read: %s", err)
		}
		return z, nil
	}
	return buffered, nil
}

// spool is a file system of the regular files whose bodies one file holds.
type spool struct {
	file   *os.File
	bodies map[string]*body // by path; nil for a directory
}

// body is a file, or a link with its target.
type body struct {
	task.Entry
	offset int64 // of the content in the spool
}

// Open implements fs.FS. What it opens can also be sought and read at an offset.
func (s spool) Open(name string) (fs.File, error) {
	b := s.bodies[name]
	if b == nil || b.Kind != task.File {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return opened{io.NewSectionReader(s.file, b.offset, b.Size), path.Base(name)}, nil
}

// opened is an open file, and its own fs.FileInfo.
type opened struct {
	*io.SectionReader
	name string
}

func (o opened) Stat() (fs.FileInfo, error) { return o, nil }
func (o opened) Close() error               { return nil }
func (o opened) Name() string               { return o.name }
func (o opened) Mode() fs.FileMode          { return 0o444 } // what runs is in the listing
func (o opened) IsDir() bool                { return false }
func (o opened) ModTime() time.Time         { return time.Time{} } // content has no time
func (o opened) Sys() any                   { return nil }

// unpacker puts the entries of a tar stream into a spool, counting before it
// writes so that a bomb ends at the limit and not on the disk.
type unpacker struct {
	spool
	limits        task.Limits
	out           *bufio.Writer // of the spool's file
	git           hash.Hash     // of the body that is being written
	entries, dirs int
	bytes         int64
}

func (u *unpacker) unpack(ctx context.Context, stream io.Reader) error {
	t := tar.NewReader(stream)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return explain(u.out.Flush())
		}
		if err != nil {
			return explain(err)
		}
		if err := u.entry(h, t); err != nil {
			return err
		}
	}
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if u.entries++; u.entries > 2*u.limits.MaxFiles {
		return refuse("it has more than %d entries", 2*u.limits.MaxFiles)
	}
	name, err := u.name(h.Name)
	if err != nil || name == "." || name == ".git" || strings.HasPrefix(name, ".git/") {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.place(name, nil)
	case tar.TypeReg:
		return u.file(task.Entry{Path: name, Size: h.Size, Executable: h.Mode&0o100 != 0}, content)
	case tar.TypeSymlink:
		// No system makes a link that is longer, or to nothing.
		if n := len(h.Linkname); n == 0 || n >= u.limits.MaxPathBytes {
			return refuse("the link %q points to nothing, or to a path of %d bytes or more", name, u.limits.MaxPathBytes)
		}
		return u.file(task.Entry{Path: name, Size: int64(len(h.Linkname)), Kind: task.Symlink}, strings.NewReader(h.Linkname))
	case tar.TypeXGlobalHeader:
		return nil
	default:
		return refuse("%q is neither a file, a directory nor a symbolic link", name)
	}
}

// name checks an entry's name and returns it in its shortest form.
func (u *unpacker) name(raw string) (string, error) {
	switch {
	case !utf8.ValidString(raw):
		return "", refuse("the name %q is not UTF-8", raw)
	case strings.HasPrefix(raw, "/"):
		return "", refuse("the path %q is absolute", raw)
	case slices.Contains(strings.Split(raw, "/"), ".."):
		return "", refuse("the path %q leaves the directory", raw)
	case len(raw) > u.limits.MaxPathBytes:
		return "", refuse("the path %.60q… is longer than %d bytes", raw, u.limits.MaxPathBytes)
	}
	return path.Clean(raw), nil
}

// maxName is the most bytes of one name on common file systems.
const maxName = 255

// place notes what stands at a path, and that directories lead to it.
func (u *unpacker) place(name string, b *body) error {
	before, known := u.bodies[name]
	switch {
	case known && before == nil && b == nil:
		return nil
	case known:
		return refuse("%q stands twice, or is both a directory and a file or link", name)
	case strings.Count(name, "/") >= u.limits.MaxDepth:
		return refuse("%q is too deep: a path has at most %d components", name, u.limits.MaxDepth)
	case len(path.Base(name)) > maxName:
		return refuse("%.60q… ends in a name of more than %d bytes", name, maxName)
	case strings.ContainsFunc(name, unicode.IsControl): // also of a directory that stays empty
		return refuse("the name %q contains a control character; rename it", name)
	}
	if b == nil {
		if u.dirs++; u.dirs >= u.limits.MaxFiles {
			return refuse("it has %d directories or more", u.limits.MaxFiles)
		}
	}
	if err := u.place(path.Dir(name), nil); err != nil {
		return err
	}
	u.bodies[name] = b
	return nil
}

// file writes the content of a file, or the target of a link.
func (u *unpacker) file(e task.Entry, content io.Reader) error {
	if e.Size > u.limits.MaxTotalBytes-u.bytes {
		return refuse("its files add up to more than %d MiB", u.limits.MaxTotalBytes>>20)
	}
	b := &body{e, u.bytes}
	if err := u.place(e.Path, b); err != nil {
		return err
	}
	u.git.Reset()
	fmt.Fprintf(u.git, "blob %d\x00", e.Size)
	if _, err := io.Copy(u.out, io.TeeReader(content, u.git)); err != nil {
		return explain(err)
	}
	b.Blob = hex.EncodeToString(u.git.Sum(nil))
	u.bytes += e.Size
	return nil
}

// explain says what became of the stream or the disk. A body that is over the
// server's limit keeps its own error.
func explain(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return protocol.ErrDiskFull.Because(err)
	}
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		return refuse("the tar stream is cut off or damaged")
	}
	return err
}

func refuse(format string, args ...any) error {
	return protocol.ErrInvalidSource.Detailf("The uploaded bundle is refused: %s.", fmt.Sprintf(format, args...)).
		WithFields(protocol.FieldError{Field: "bundle", Message: fmt.Sprintf(format, args...)})
}
