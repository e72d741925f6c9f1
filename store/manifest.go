package store

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Manifest is what stands beside a backup, as JSON: what the file must be, and
// what it holds.
type Manifest struct {
	Format    int       `json:"format"` // 1
	File      string    `json:"file"`   // its name, without a directory
	Bytes     int64     `json:"bytes"`
	SHA256    string    `json:"sha256"` // 64 hex digits
	Schema    int       `json:"schema"` // number of its newest migration
	SQLite    string    `json:"sqlite"` // the version that wrote it
	Made      time.Time `json:"made_at"`
	AuditSeq  int64     `json:"audit_seq"`  // head of its audit trail,
	AuditHash string    `json:"audit_hash"` // which anchors everything before it
	Holds     string    `json:"holds"`
	Secrets   string    `json:"secrets"`
}

// The sentences of a manifest.
const (
	manifestHolds   = "the whole database: records, logs, attempts, uploaded collections and audit trail"
	manifestSecrets = "none in clear: tokens and sessions are kept as SHA-256 hashes. organizer.token, configuration and environment variables are not part of it. Logs, per-task results and uploaded collections are confidential."
)

// maxManifest bounds what is read of a manifest, in bytes.
const maxManifest = 64 << 10

// ManifestName is where the manifest of a backup stands.
func ManifestName(file string) string { return file + ".manifest.json" }

func (c Copy) manifest(at time.Time) Manifest {
	return Manifest{
		Format: 1, File: filepath.Base(c.Path), Bytes: c.Bytes, SHA256: hex.EncodeToString(c.SHA256[:]), Schema: c.Schema, SQLite: SQLiteVersion(),
		Made: at.UTC(), AuditSeq: c.AuditSeq, AuditHash: hex.EncodeToString(c.AuditHash[:]), Holds: manifestHolds, Secrets: manifestSecrets,
	}
}

// writeManifest writes the manifest of a copy that has its name, and makes both
// durable. One that is left of a backup which is gone is replaced.
func writeManifest(file string, m Manifest) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	name := ManifestName(file)
	partial := name + partialSuffix
	if err := os.WriteFile(partial, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return errors.Join(rename(partial, name), ignoreMissing(os.Remove(partial)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ReadManifest reads the manifest of a backup. A backup without one is
// fs.ErrNotExist.
func ReadManifest(file string) (m Manifest, err error) {
	f, err := os.Open(ManifestName(file))
	if err != nil {
		return m, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxManifest))
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read the manifest %s: %w", f.Name(), err)
	}
	return m, nil
}

// checkManifest requires that a file is the one that its manifest describes,
// when it has one.
func checkManifest(file string, found Copy) error {
	m, err := ReadManifest(file)
	switch sum := hex.EncodeToString(found.SHA256[:]); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w; without that file beside it a backup is restored without comparing", err)
	case m.SHA256 != sum:
		return fmt.Errorf("its SHA-256 is %s and its manifest says %s: it is not the file that was backed up", sum, m.SHA256)
	default:
		return nil
	}
}
