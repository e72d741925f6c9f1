package simulated

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"maps"
	"slices"
)

// tree returns files as a file system. An archive in memory is the one that the
// standard library has for that; nothing in it is compressed.
func tree(files map[string][]byte) (fs.FS, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(files[path]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
}
