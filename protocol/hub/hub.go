// Package hub is the conversation with the places that collections live in.
//
// Whatever the place, the arena sees the same thing: a snapshot, pinned to one
// commit, with a listing that carries git blob ids and the files as an fs.FS.
// Nothing of a snapshot is ever executed.
package hub

import (
	"context"
	"io/fs"

	"github.com/posttrainarena/arena/protocol"
)

// Snapshot is a source at one commit. Close releases what backs its files.
type Snapshot struct {
	Commit  string // 40 hex digits: a commit, or for a bundle its git tree id
	Files   fs.FS
	Entries []protocol.TreeFile // sorted by path
	Close   func() error        // nil when there is nothing to release
}

// Release closes the snapshot if it holds anything. It may be called twice.
func (s *Snapshot) Release() error {
	if s == nil || s.Close == nil {
		return nil
	}
	release := s.Close
	s.Close = nil
	return release()
}

// Host opens sources of one kind. Its errors are the protocol's:
// ErrInvalidSource for what the author can mend, ErrUnavailable (with the wait)
// for what passes by itself.
type Host interface {
	Open(ctx context.Context, s protocol.Source) (*Snapshot, error)
}

// People knows the accounts of a hub. Whoami returns who a token belongs to, or
// one of the protocol's errors: ErrBadToken for a token that the hub does not
// take, ErrForbidden for one that is not a person's, ErrUnavailable when the hub
// cannot say.
type People interface {
	Whoami(ctx context.Context, token string) (protocol.Identity, error)
}
