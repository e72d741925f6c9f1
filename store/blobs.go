package store

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/posttrainarena/arena/protocol"
)

const (
	// blobPiece is how much of a blob one row holds, before compression.
	blobPiece = 1 << 20
	// maxChunk is the most bytes that any stored piece decompresses to; it leaves
	// room for a log chunk that ends with a line of maxLine.
	maxChunk = 4 << 20
	// maxBlob is the size of the largest file that is stored.
	maxBlob = 4 << 30
	// A batch is written when it holds this many compressed bytes or blobs, so
	// that neither memory nor a transaction grows with a tree.
	batchBytes = 8 << 20
	batchBlobs = 256
)

// saveBlobs stores the bodies of a tree's files and returns its entries, sorted
// by path, with their blobs. A body that does not have the size and the git
// blob id of its entry is refused: it changed while it was read. An entry
// without a git blob id gets it. Nothing refers to the blobs yet; those of a
// tree that is never finished are swept away at the next start.
func (s *Store) saveBlobs(ctx context.Context, files []protocol.TreeFile, open func(path string) (io.ReadCloser, error)) ([]treeFile, error) {
	files, err := checkTree(files)
	if err != nil {
		return nil, err
	}
	w := &blobWriter{store: s}
	drafts := make([]*draft, len(files))
	for i, f := range files {
		if !hasBody(f.Kind) {
			continue
		}
		if drafts[i], err = w.readFile(ctx, f, open); err != nil {
			return nil, fmt.Errorf("store %q: %w", f.Path, err)
		}
		files[i].Blob = drafts[i].gitID
	}
	if err := w.flush(ctx); err != nil {
		return nil, err
	}
	stored := make([]treeFile, len(files))
	for i, f := range files {
		stored[i].TreeFile = f
		if drafts[i] != nil {
			stored[i].blob = drafts[i].id
		}
	}
	return stored, nil
}

func hasBody(k protocol.FileKind) bool {
	return k == protocol.FileRegular || k == protocol.FileExecutable
}

// draft is a blob on its way into the database.
type draft struct {
	id     int64  // 0 until a part of it was written
	sha256 []byte // nil until all of it was read
	gitID  string
	size   int64
	n      int64    // number of the first of pieces
	pieces [][]byte // compressed, not written yet
}

// blobWriter collects compressed pieces of blobs and writes them in batches.
type blobWriter struct {
	store *Store
	batch []*draft // of which only the last can be unfinished
	held  int      // bytes of pieces in batch
	piece []byte   // what is read into
}

// readFile reads one file to its end into a draft, which holds what was not
// written on the way.
func (w *blobWriter) readFile(ctx context.Context, f protocol.TreeFile, open func(path string) (io.ReadCloser, error)) (*draft, error) {
	if f.Size > maxBlob {
		return nil, protocol.ErrTooLarge.Detailf("%s has %d bytes; %d is the most for one file.", f.Path, f.Size, int64(maxBlob))
	}
	body, err := open(f.Path)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if len(w.batch) >= batchBlobs {
		if err := w.flush(ctx); err != nil {
			return nil, err
		}
	}
	d := &draft{size: f.Size}
	w.batch = append(w.batch, d)
	sum, git := sha256.New(), sha1.New()
	fmt.Fprintf(git, "blob %d\x00", f.Size)
	in := io.TeeReader(body, io.MultiWriter(sum, git))
	for left := f.Size; left > 0; left -= int64(len(w.piece)) {
		if w.piece == nil {
			w.piece = make([]byte, 0, blobPiece)
		}
		w.piece = w.piece[:min(left, blobPiece)]
		if _, err := io.ReadFull(in, w.piece); err != nil {
			return nil, fmt.Errorf("read %d of %d bytes: %w", f.Size-left, f.Size, err)
		}
		if err := w.add(ctx, d, w.store.pack.EncodeAll(w.piece, nil)); err != nil {
			return nil, err
		}
	}
	if n, err := io.ReadFull(body, make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("it is longer than its %d bytes", f.Size), err)
	}
	d.sha256, d.gitID = sum.Sum(nil), hex.EncodeToString(git.Sum(nil))
	if f.Blob != "" && f.Blob != d.gitID {
		return nil, fmt.Errorf("its git blob id is %s instead of %s: it changed while it was read", d.gitID, f.Blob)
	}
	return d, nil
}

// add adds a piece to the draft that is being read.
func (w *blobWriter) add(ctx context.Context, d *draft, piece []byte) error {
	d.pieces = append(d.pieces, piece)
	if w.held += len(piece); w.held < batchBytes {
		return nil
	}
	return w.flush(ctx)
}

// flush writes what was collected. An unfinished draft stays in the batch.
func (w *blobWriter) flush(ctx context.Context) error {
	err := w.store.update(ctx, "store files", func(t *tx) error {
		for _, d := range w.batch {
			if err := t.writeDraft(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var open []*draft
	for _, d := range w.batch {
		d.n, d.pieces = d.n+int64(len(d.pieces)), nil
		if d.sha256 == nil {
			open = append(open, d)
		}
	}
	w.batch, w.held = open, 0
	return nil
}

// writeDraft writes the pieces that a draft holds. A finished draft becomes the
// blob of its content: the stored one if there is one, else its own.
func (t *tx) writeDraft(ctx context.Context, d *draft) error {
	if d.sha256 != nil {
		same, err := t.blob(ctx, d.sha256)
		if err != nil {
			return err
		}
		if same != 0 {
			_, err := t.ExecContext(ctx, "DELETE FROM blobs WHERE id = ?", d.id) // what was written of it before
			d.id = same
			return err
		}
	}
	var err error
	if d.id == 0 {
		err = t.QueryRowContext(ctx, "INSERT INTO blobs (sha256, size) VALUES (?, ?) RETURNING id", d.sha256, d.size).Scan(&d.id)
	} else {
		_, err = t.ExecContext(ctx, "UPDATE blobs SET sha256 = ? WHERE id = ?", d.sha256, d.id)
	}
	for i, p := range d.pieces {
		if err == nil {
			_, err = t.ExecContext(ctx, "INSERT INTO blob_chunks (blob, n, body) VALUES (?, ?, ?)", d.id, d.n+int64(i), p)
		}
	}
	return err
}

// blob finds a stored blob by the SHA-256 of its content; 0 when there is none.
func (t *tx) blob(ctx context.Context, sum []byte) (id int64, err error) {
	err = t.QueryRowContext(ctx, "SELECT id FROM blobs WHERE sha256 = ?", sum).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// sweep deletes the blobs that no tree refers to: what a process left behind
// that ended before its tree was finished. It runs before anybody writes.
func (s *Store) sweep(ctx context.Context) error {
	return s.update(ctx, "sweep unfinished uploads", func(t *tx) error {
		_, err := t.ExecContext(ctx, "DELETE FROM blobs WHERE sha256 IS NULL OR NOT EXISTS (SELECT 1 FROM tree_files f WHERE f.blob = blobs.id)")
		return err
	})
}

// readPiece reads one piece of a blob.
func (s *Store) readPiece(ctx context.Context, blob, n int64) ([]byte, error) {
	var body []byte
	if err := s.reader.QueryRowContext(ctx, "SELECT body FROM blob_chunks WHERE blob = ? AND n = ?", blob, n).Scan(&body); err != nil {
		return nil, fmt.Errorf("read piece %d of blob %d: %w", n, blob, err)
	}
	piece, err := s.unpack.DecodeAll(body, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack piece %d of blob %d: %w", n, blob, err)
	}
	return piece, nil
}
