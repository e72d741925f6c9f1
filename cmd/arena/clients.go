package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/server"
)

// clientShelf holds the binaries that the arena gives to clients: for its own
// platform the program that runs, for others files arena-OS-ARCH of a directory.
type clientShelf struct {
	dir string // empty for none

	mu      sync.Mutex
	own     *os.File // the running program; stays open, so that replacing the file changes nothing
	digests map[string]digested
}

// digested is a digest and what the file looked like when it was made.
type digested struct {
	info fs.FileInfo
	sum  [sha256.Size]byte
}

// openShelf opens the running program.
func openShelf(dir string) (*clientShelf, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program, to give it to clients: %w", err)
	}
	own, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the running program, to give it to clients: %w", err)
	}
	return &clientShelf{dir: dir, own: own, digests: map[string]digested{}}, nil
}

// close gives the running program's file back.
func (s *clientShelf) close() error { return s.own.Close() }

var platformWord = regexp.MustCompile(`^[a-z0-9]{2,20}$`)

// open opens the binary for a platform.
func (s *clientShelf) open(goos, arch string) (server.Binary, error) {
	none := protocol.ErrNotFound.Detailf("This arena serves no command line for %.20q on %.20q. Build it from the project: CGO_ENABLED=0 GOOS=OS GOARCH=ARCH go build ./cmd/arena.", goos, arch)
	if !platformWord.MatchString(goos) || !platformWord.MatchString(arch) {
		return server.Binary{}, none
	}
	file, closing := s.own, func() error { return nil }
	if goos != runtime.GOOS || arch != runtime.GOARCH {
		if s.dir == "" {
			return server.Binary{}, none
		}
		f, err := os.OpenInRoot(s.dir, "arena-"+goos+"-"+arch)
		if errors.Is(err, fs.ErrNotExist) {
			return server.Binary{}, none
		}
		if err != nil {
			return server.Binary{}, fmt.Errorf("open the client for %s/%s: %w", goos, arch, err)
		}
		file, closing = f, f.Close
	}
	b, err := s.binary(goos+"/"+arch, file)
	if err != nil {
		return b, errors.Join(err, closing())
	}
	b.Close = closing
	if goos == "windows" {
		b.Name = "arena.exe"
	}
	return b, nil
}

// binary describes an open file, with its digest made once for each content.
func (s *clientShelf) binary(platform string, file *os.File) (server.Binary, error) {
	info, err := file.Stat()
	if err != nil {
		return server.Binary{}, fmt.Errorf("look at the client for %s: %w", platform, err)
	}
	if !info.Mode().IsRegular() {
		return server.Binary{}, fmt.Errorf("the client for %s is no file", platform)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.digests[platform]
	if !ok || !os.SameFile(known.info, info) || known.info.Size() != info.Size() || !known.info.ModTime().Equal(info.ModTime()) {
		sum, err := fileDigest(file, info.Size())
		if err != nil {
			return server.Binary{}, fmt.Errorf("read the client for %s: %w", platform, err)
		}
		known = digested{info: info, sum: sum}
		s.digests[platform] = known
	}
	return server.Binary{Name: "arena", Content: file, Size: info.Size(), Digest: known.sum}, nil
}

// fileDigest is the SHA-256 of a file's content.
func fileDigest(file io.ReaderAt, size int64) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_, err = io.Copy(h, io.NewSectionReader(file, 0, size))
	copy(sum[:], h.Sum(nil))
	return sum, err
}

// ownDigest is the SHA-256, in hex, of the running program.
func ownDigest() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running program: %w", err)
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return "", fmt.Errorf("open the running program: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("look at the running program: %w", err)
	}
	sum, err := fileDigest(f, info.Size())
	if err != nil {
		return "", fmt.Errorf("read the running program: %w", err)
	}
	return hex.EncodeToString(sum[:]), nil
}
