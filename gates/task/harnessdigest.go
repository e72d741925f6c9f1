package task

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
)

// HarnessDigest is what the BenchFlow harness records as task_digest of an attempt at this package: "sha256:" and the
// hex SHA-256 over the regular files sorted by path, each as path, zero byte, and the 32 bytes of its content's SHA-256
// (reference/pipeline.md §6.2). Links and .benchflow-source.json are not part of it. replaced are files by path whose
// content is other than listed, or that are added. The digest is empty when a file of the package was listed and is not
// there to be read.
func (p *Package) HarnessDigest(replaced map[string]string) (string, error) {
	sums := map[string][32]byte{}
	for name, text := range replaced {
		sums[name] = sha256.Sum256([]byte(text))
	}
	for _, e := range p.Files {
		if _, ok := sums[e.Path]; ok || e.Kind != File || e.Path == ".benchflow-source.json" {
			continue
		}
		sum, err := p.sum(e.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("digest %s of task %s: %w", e.Path, p.Name, err)
		}
		sums[e.Path] = sum
	}
	h := sha256.New()
	for _, name := range slices.SortedFunc(maps.Keys(sums), cmp.Compare[string]) {
		sum := sums[name]
		h.Write([]byte(name + "\x00"))
		h.Write(sum[:])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// sum is the SHA-256 of one file's content.
func (p *Package) sum(name string) (sum [32]byte, err error) {
	f, err := p.FS.Open(name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	return [32]byte(h.Sum(nil)), nil
}
