package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// The kinds of tree.
const (
	treeBundle    = "bundle"    // named by its git tree id
	treeArtifacts = "artifacts" // named by its run
)

// treeFile is an entry of a stored tree and where its body is; blob is 0 when
// it has none.
type treeFile struct {
	protocol.TreeFile
	blob int64
}

const treeFileColumns = "path, kind, size, git_blob, coalesce(blob, 0)"

func scanTreeFile(r scanner) (f treeFile, err error) {
	return f, r.Scan(&f.Path, &f.Kind, &f.Size, &f.Blob, &f.blob)
}

// Bundle returns an uploaded collection by its git tree id, as files that are
// read when they are opened, and as a list sorted by path. It is
// ErrInvalidSource when no such bundle was uploaded.
func (s *Store) Bundle(ctx context.Context, treeID string) (fs.FS, []protocol.TreeFile, error) {
	files, found, err := s.readTree(ctx, treeBundle, treeID)
	if err == nil && !found {
		err = protocol.ErrInvalidSource.Detailf("No bundle with the tree id %s was uploaded. Upload the directory first.", treeID)
	}
	if err != nil {
		return nil, nil, err
	}
	return newTreeFS(s, files), listing(files), nil
}

// Artifacts returns what a run's job uploaded, in the form of Bundle. It is an
// empty tree when nothing is stored.
func (s *Store) Artifacts(ctx context.Context, run string) (fs.FS, []protocol.TreeFile, error) {
	if _, err := s.Run(ctx, run); err != nil {
		return nil, nil, err
	}
	files, _, err := s.readTree(ctx, treeArtifacts, run)
	if err != nil {
		return nil, nil, err
	}
	return newTreeFS(s, files), listing(files), nil
}

// SaveBundle stores an uploaded collection under its git tree id. A bundle that
// is stored already is not read again. Bodies are read, compressed and written
// piece by piece; the tree appears in one transaction at the end, or not at all.
func (s *Store) SaveBundle(ctx context.Context, treeID string, files []protocol.TreeFile, open func(path string) (io.ReadCloser, error)) error {
	if err := s.room(); err != nil {
		return err
	}
	_, found, err := s.readTree(ctx, treeBundle, treeID)
	if err != nil || found {
		return err
	}
	stored, err := s.saveBlobs(ctx, files, open)
	if err != nil {
		return err
	}
	return s.update(ctx, "save bundle "+treeID, func(t *tx) error {
		if _, found, err := t.tree(ctx, treeBundle, treeID); err != nil || found {
			return err // stored by somebody else meanwhile: the same files, by their id
		}
		return t.insertTree(ctx, treeBundle, treeID, stored)
	})
}

// SaveArtifacts stores what a run's job uploaded, as SaveBundle does. Saving the
// same files again changes nothing. Other files take their place while the run
// is live; after that the artifacts are evidence and other files are
// ErrIllegalMove.
func (s *Store) SaveArtifacts(ctx context.Context, run string, files []protocol.TreeFile, open func(path string) (io.ReadCloser, error)) error {
	if _, err := s.Run(ctx, run); err != nil {
		return err
	}
	stored, err := s.saveBlobs(ctx, files, open)
	if err != nil {
		return err
	}
	return s.update(ctx, "save the artifacts of run "+run, func(t *tx) error {
		r, err := t.run(ctx, run)
		if err != nil {
			return err
		}
		have, found, err := t.tree(ctx, treeArtifacts, run)
		if err != nil || found && slices.Equal(have, stored) {
			return err
		}
		if found && r.State.Ended() {
			return protocol.ErrIllegalMove.Detailf("Run %s is %s. Its artifacts are evidence and stay as they are.", run, r.State)
		}
		if _, err := t.ExecContext(ctx, "DELETE FROM trees WHERE kind = ? AND name = ?", treeArtifacts, run); err != nil {
			return err
		}
		return t.insertTree(ctx, treeArtifacts, run, stored)
	})
}

// readTree reads the entries of a tree, sorted by path; false when there is no
// such tree.
func (s *Store) readTree(ctx context.Context, kind, name string) (files []treeFile, found bool, err error) {
	err = s.view(ctx, "read "+kind+" "+name, func(t *tx) error {
		files, found, err = t.tree(ctx, kind, name)
		return err
	})
	return files, found, err
}

func (t *tx) tree(ctx context.Context, kind, name string) (files []treeFile, found bool, err error) {
	var id int64
	err = t.QueryRowContext(ctx, "SELECT id FROM trees WHERE kind = ? AND name = ?", kind, name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	rows, err := t.QueryContext(ctx, "SELECT "+treeFileColumns+" FROM tree_files WHERE tree = ? ORDER BY path", id)
	files, err = many(rows, err, scanTreeFile)
	return files, err == nil, err
}

// insertTree makes a tree visible, once all its bodies are stored.
func (t *tx) insertTree(ctx context.Context, kind, name string, files []treeFile) error {
	var bytes int64
	for _, f := range files {
		bytes += f.Size
	}
	res, err := t.ExecContext(ctx, "INSERT INTO trees (kind, name, files, bytes, created) VALUES (?, ?, ?, ?, ?)", kind, name, len(files), bytes, micros(t.now))
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	insert, err := t.PrepareContext(ctx, "INSERT INTO tree_files (tree, path, kind, size, git_blob, blob) VALUES (?, ?, ?, ?, ?, nullif(?, 0))")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, f := range files {
		if _, err := insert.ExecContext(ctx, id, f.Path, f.Kind, f.Size, f.Blob, f.blob); err != nil {
			return fmt.Errorf("entry %q: %w", f.Path, err)
		}
	}
	return t.audit(ctx, change{
		by: protocol.Actor{Name: protocol.ActorArena}, action: "store", object: kind + ":" + name,
		after: map[string]int64{"files": int64(len(files)), "bytes": bytes},
	})
}

func listing(files []treeFile) []protocol.TreeFile {
	list := make([]protocol.TreeFile, len(files))
	for i, f := range files {
		list[i] = f.TreeFile
	}
	return list
}

// checkTree sorts the entries of a tree that is to be stored and refuses one
// that could not be read back: paths that are not clean, twice the same path, a
// file where another path needs a directory, an unknown kind.
func checkTree(files []protocol.TreeFile) ([]protocol.TreeFile, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b protocol.TreeFile) int { return strings.Compare(a.Path, b.Path) })
	kinds := []protocol.FileKind{protocol.FileRegular, protocol.FileExecutable, protocol.FileSymlink, protocol.FileSubmodule}
	isFile := make(map[string]bool, len(files))
	for _, f := range files {
		switch {
		case !fs.ValidPath(f.Path) || f.Path == ".":
			return nil, protocol.ErrInvalidSource.Detailf("The path %q is not a clean relative path.", f.Path)
		case isFile[f.Path]:
			return nil, protocol.ErrInvalidSource.Detailf("The path %q occurs twice.", f.Path)
		case !slices.Contains(kinds, f.Kind):
			return nil, fmt.Errorf("store a tree: %q has the unknown kind %q", f.Path, f.Kind)
		case f.Size < 0:
			return nil, fmt.Errorf("store a tree: %q has a size below zero", f.Path)
		}
		isFile[f.Path] = true
	}
	for _, f := range files {
		for i, c := range f.Path {
			if c == '/' && isFile[f.Path[:i]] {
				return nil, protocol.ErrInvalidSource.Detailf("The path %q is both a file and a directory.", f.Path[:i])
			}
		}
	}
	return files, nil
}
