package engine

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// File is one entry of a tar for Build or CopyTo.
type File struct {
	Name string      // slash-separated, relative; a name that ends in "/" is a directory
	Data []byte      // of a regular file
	Mode fs.FileMode // permission bits; 0644, and 0755 for a directory, when 0
	Link string      // makes it a symbolic link to this
	UID  int         // owner and group
}

// Tar packs files, in their order.
func Tar(files ...File) (io.Reader, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.Name, Mode: int64(f.Mode.Perm()), Size: int64(len(f.Data)), Uid: f.UID, Gid: f.UID, Typeflag: tar.TypeReg}
		switch {
		case f.Link != "":
			h.Typeflag, h.Linkname, h.Size, h.Mode = tar.TypeSymlink, f.Link, 0, 0o777
		case f.Name != "" && f.Name[len(f.Name)-1] == '/':
			h.Typeflag, h.Size = tar.TypeDir, 0
			if h.Mode == 0 {
				h.Mode = 0o755
			}
		case h.Mode == 0:
			h.Mode = 0o644
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Name, err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(f.Data); err != nil {
				return nil, fmt.Errorf("pack %s: %w", f.Name, err)
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack a build context: %w", err)
	}
	return &b, nil
}

// TarFS packs the directories and regular files of fsys below prefix (empty for
// none), at most limit bytes of content. skip, which may be nil, leaves a path
// out, and all that is below it. Links and devices are refused.
func TarFS(fsys fs.FS, prefix string, limit int64, skip func(name string) bool) (io.Reader, error) {
	var files []File
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if skip != nil && skip(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := File{Name: path.Join(prefix, name), Mode: info.Mode()}
		switch {
		case d.IsDir():
			f.Name += "/"
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory (%s)", name, d.Type())
		default:
			if limit -= info.Size(); limit < 0 {
				return fmt.Errorf("%s: the files together are larger than allowed", name)
			}
			if f.Data, err = fs.ReadFile(fsys, name); err != nil {
				return err
			}
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("pack a directory: %w", err)
	}
	return Tar(files...)
}
