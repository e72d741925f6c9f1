package engine

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
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
