// Package bundle receives collections that a client uploads as a tar stream.
//
// The stream is unpacked into a temporary directory that os.Root confines, so
// that no name in it can reach outside, and then read like any other directory.
// The snapshot's commit is the git tree id of the content: the same directory
// always pins the same, whoever packed it and when.
package bundle

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub"
)

// Receiver unpacks uploads below Dir.
type Receiver struct {
	Dir    string // for temporary directories; empty for the system's
	Limits task.Limits
}

// Receive reads a tar stream, plain or gzipped, and returns it as a snapshot
// whose Close removes the temporary files. What is wrong with the stream is a
// protocol.ErrInvalidSource that names the entry; nothing of it stays behind.
func (r Receiver) Receive(ctx context.Context, stream io.Reader) (*hub.Snapshot, error) {
	dir, err := os.MkdirTemp(r.Dir, "bundle-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the upload: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the directory for the upload: %w", err), os.RemoveAll(dir))
	}
	release := func() error { return errors.Join(root.Close(), os.RemoveAll(dir)) }
	snapshot, err := r.read(ctx, root, stream)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	snapshot.Close = release
	return snapshot, nil
}

func (r Receiver) read(ctx context.Context, root *os.Root, stream io.Reader) (*hub.Snapshot, error) {
	plain, err := uncompressed(stream)
	if err != nil {
		return nil, err
	}
	u := unpacker{root: root, limits: r.Limits, made: map[string]bool{".": true}}
	if err := u.unpack(ctx, plain); err != nil {
		return nil, err
	}
	return Snapshot(root.FS(), r.Limits)
}

// Snapshot reads a directory as a bundle: its listing, and as its commit the
// git tree id of the content.
func Snapshot(files fs.FS, limits task.Limits) (*hub.Snapshot, error) {
	tree, err := task.ReadTree(files, limits)
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

// unpacker writes the entries of a tar stream below a root, counting as it goes
// so that a bomb ends at the limit and not on the disk.
type unpacker struct {
	root    *os.Root
	limits  task.Limits
	made    map[string]bool // directories that exist
	entries int
	bytes   int64
}

func (u *unpacker) unpack(ctx context.Context, stream io.Reader) error {
	t := tar.NewReader(stream)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return streamError(err)
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
	if err != nil || name == "." {
		return err
	}
	if name == ".git" || strings.HasPrefix(name, ".git/") {
		return nil
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.mkdir(name)
	case tar.TypeReg:
		return u.file(name, h, content)
	case tar.TypeSymlink:
		return u.symlink(name, h.Linkname)
	case tar.TypeXGlobalHeader:
		return nil
	default:
		return refuse("%q is neither a file, a directory nor a symbolic link", name)
	}
}

// name checks an entry's name and returns it in its shortest form.
func (u *unpacker) name(raw string) (string, error) {
	if !utf8.ValidString(raw) {
		return "", refuse("the name %q is not UTF-8", raw)
	}
	if strings.HasPrefix(raw, "/") {
		return "", refuse("the path %q is absolute", raw)
	}
	for part := range strings.SplitSeq(raw, "/") {
		if part == ".." {
			return "", refuse("the path %q leaves the directory", raw)
		}
	}
	if len(raw) > u.limits.MaxPathBytes {
		return "", refuse("the path %.60q… is longer than %d bytes", raw, u.limits.MaxPathBytes)
	}
	return path.Clean(raw), nil
}

func (u *unpacker) mkdir(name string) error {
	if u.made[name] {
		return nil
	}
	if strings.Count(name, "/") >= u.limits.MaxDepth {
		return refuse("%q is more than %d directories deep", name, u.limits.MaxDepth)
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	if err := u.root.Mkdir(name, 0o700); err != nil {
		// A link in the place of a directory is not followed, even to the inside.
		if info, statErr := u.root.Lstat(name); statErr != nil || !info.IsDir() {
			return placing(name, err)
		}
	}
	u.made[name] = true
	return nil
}

func (u *unpacker) file(name string, h *tar.Header, content io.Reader) error {
	if u.bytes += h.Size; u.bytes > u.limits.MaxTotalBytes {
		return refuse("its files add up to more than %d MiB", u.limits.MaxTotalBytes>>20)
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if h.Mode&0o100 != 0 {
		mode = 0o700
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return placing(name, err)
	}
	_, err = io.Copy(f, content)
	if err := errors.Join(err, f.Close()); err != nil {
		return streamError(err)
	}
	return nil
}

func (u *unpacker) symlink(name, target string) error {
	if len(target) > u.limits.MaxPathBytes {
		return refuse("the link %q points to a path longer than %d bytes", name, u.limits.MaxPathBytes)
	}
	if u.bytes += int64(len(target)); u.bytes > u.limits.MaxTotalBytes {
		return refuse("its files add up to more than %d MiB", u.limits.MaxTotalBytes>>20)
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	if err := u.root.Symlink(target, name); err != nil {
		return placing(name, err)
	}
	return nil
}

// placing explains why an entry could not be written.
func placing(name string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return protocol.ErrDiskFull.Because(err)
	}
	if errors.Is(err, fs.ErrExist) {
		return refuse("%q stands twice, or is both a file and a directory", name)
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok && strings.Contains(err.Error(), "escapes") {
		return refuse("%q leaves the directory through a link", name)
	}
	return refuse("%q cannot be placed: a parent of it is not a directory", name)
}

// streamError explains why the stream could not be read to its end. A body that
// is over the server's limit keeps its own error.
func streamError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return protocol.ErrDiskFull.Because(err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		return refuse("the tar stream is cut off or damaged")
	}
	return err
}

func refuse(format string, args ...any) error {
	return protocol.ErrInvalidSource.Detailf("The uploaded bundle is refused: %s.", fmt.Sprintf(format, args...)).
		WithFields(protocol.FieldError{Field: "bundle", Message: fmt.Sprintf(format, args...)})
}
