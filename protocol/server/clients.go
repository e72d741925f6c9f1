package server

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Binary is the command line for one platform, as it is served.
type Binary struct {
	Name    string // of the file that a client keeps
	Content io.ReaderAt
	Size    int64
	Digest  [32]byte // SHA-256 of the content
	Close   func() error
}

// clientBinary answers the command line for a platform, in the spelling of Go or
// of uname.
func (s *Server) clientBinary(c *call) error {
	goos, arch := platform(c.param("os"), c.param("arch"))
	if s.Client == nil {
		return protocol.ErrNotFound.Detailf("This arena does not serve the command line. Build it from the project: go build ./cmd/arena.")
	}
	b, err := s.Client(goos, arch)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	h := c.w.Header()
	h.Set("Content-Type", api.ContentBinary)
	h.Set("Content-Disposition", `attachment; filename="`+b.Name+`"`)
	h.Set("ETag", `"sha256-`+hex.EncodeToString(b.Digest[:])+`"`)
	h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(b.Digest[:])+":") // RFC 9530
	h.Set("Cache-Control", "no-cache")
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeBinary))
	http.ServeContent(c.w, c.r, "", time.Time{}, io.NewSectionReader(b.Content, 0, b.Size))
	return nil
}

// writeBinary bounds how long a client may take to read a binary.
const writeBinary = 15 * time.Minute

// platform translates the words of uname into those of Go.
func platform(system, machine string) (goos, arch string) {
	for _, w := range []struct{ uname, goWord string }{{"Linux", "linux"}, {"Darwin", "darwin"}, {"FreeBSD", "freebsd"}} {
		if system == w.uname {
			system = w.goWord
		}
	}
	for _, w := range []struct{ uname, goWord string }{{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"armv7l", "arm"}, {"i686", "386"}} {
		if machine == w.uname {
			machine = w.goWord
		}
	}
	return system, machine
}
