package client

import (
	"archive/tar"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/posttrainarena/arena/gates/task"
)

// Bundle is a directory that is uploaded as a tar stream. The stream is a
// function of the content alone: entries sorted by path, no times or owners,
// modes 0644 and 0755, links as links. It can be made again for every try, and
// making it fails when a file is not what it was when the bundle was read.
type Bundle struct {
	files   fs.FS
	entries []task.Entry
	treeID  string
	bytes   int64
}

// NewBundle reads a directory's listing and checks it against the limits of
// PROTOCOL §5, so that what the arena would refuse is refused before it is sent.
// entryPath is where the collection is inside it, empty for the root. For a
// directory on disk pass os.Root's FS: a link cannot lead it outside.
func NewBundle(files fs.FS, entryPath string) (*Bundle, error) {
	limits := task.DefaultLimits()
	tree, err := task.ReadTree(files, limits)
	if err != nil {
		return nil, err
	}
	if err := checkTasks(tree.Entries, entryPath, limits); err != nil {
		return nil, err
	}
	id, err := task.GitTreeID(tree.Entries)
	if err != nil {
		return nil, err
	}
	b := &Bundle{files: files, entries: tree.Entries, treeID: id}
	for _, e := range tree.Entries {
		b.bytes += e.Size
	}
	return b, nil
}

// TreeID is the git tree id of the content, which is the revision that the arena
// gives the bundle.
func (b *Bundle) TreeID() string { return b.treeID }

// Files is the number of files and links.
func (b *Bundle) Files() int { return len(b.entries) }

// Bytes is the size of all files together.
func (b *Bundle) Bytes() int64 { return b.bytes }

// checkTasks checks that there is a collection, and the limits on its tasks.
func checkTasks(entries []task.Entry, entryPath string, limits task.Limits) error {
	envs := path.Join(entryPath, "envs") + "/"
	files := map[string]int{}
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Path, envs); ok {
			if name, _, inside := strings.Cut(rest, "/"); inside {
				files[name]++
			}
		}
	}
	switch n := len(files); {
	case n == 0:
		return fmt.Errorf("there is no task package under %s: a collection has submission.yaml and one directory for each task in envs/", envs)
	case n > limits.MaxTasks:
		return fmt.Errorf("there are %d task packages under %s, at most %d are allowed", n, envs, limits.MaxTasks)
	}
	for name, n := range files {
		if n > limits.MaxFilesPerTask {
			return fmt.Errorf("task %s has %d files, at most %d are allowed", name, n, limits.MaxFilesPerTask)
		}
	}
	return nil
}

// WriteTar writes the stream.
func (b *Bundle) WriteTar(w io.Writer) error {
	tw := tar.NewWriter(w)
	for _, e := range b.entries {
		if err := b.writeEntry(tw, e); err != nil {
			return err
		}
	}
	return tw.Close()
}

func (b *Bundle) writeEntry(tw *tar.Writer, e task.Entry) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.Path, Size: e.Size, Mode: 0o644}
	if e.Executable {
		h.Mode = 0o755
	}
	if e.Kind == task.Symlink {
		target, err := fs.ReadLink(b.files, e.Path)
		if err != nil {
			return fmt.Errorf("read link %s: %w", e.Path, err)
		}
		h.Typeflag, h.Linkname, h.Size, h.Mode = tar.TypeSymlink, target, 0, 0o777
		return tw.WriteHeader(h)
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	f, err := b.files.Open(e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	blob := sha1.New()
	fmt.Fprintf(blob, "blob %d\x00", e.Size)
	n, err := io.Copy(io.MultiWriter(tw, blob), io.LimitReader(f, e.Size))
	if err != nil {
		return fmt.Errorf("send %s: %w", e.Path, err)
	}
	if n != e.Size || hex.EncodeToString(blob.Sum(nil)) != e.Blob {
		return &task.TreeError{Path: e.Path, Reason: task.ErrChanged, Detail: "after it was listed"}
	}
	return nil
}
