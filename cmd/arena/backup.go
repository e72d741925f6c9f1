package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/posttrainarena/arena/store"
)

// backupCmd copies the database of an arena, whether or not it serves.
type backupCmd struct {
	dataFlag
	File string `arg:"" name:"file" help:"The new file; its manifest is written beside it."`
}

func (backupCmd) speaksJSON() bool { return true }

// Run writes the copy and prints its manifest.
func (cmd *backupCmd) Run(ctx context.Context, env *environ) error {
	if cmd.File == "" { // a variable of a script that is not set
		return usagef("name the new file")
	}
	st, err := cmd.look(ctx, env)
	if err != nil {
		return err
	}
	made, err := st.Backup(ctx, cmd.File)
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	m, err := store.ReadManifest(cmd.File)
	if err != nil {
		return err
	}
	env.say("%s holds %d bytes at schema %04d; its structure and references were checked.", made.Path, made.Bytes, made.Schema)
	env.say("SHA-256 %s; the audit trail ends at row %d. Keep both elsewhere.", m.SHA256, m.AuditSeq)
	env.say("%s", next("restore", "--data", "DIR", cmd.File))
	return env.document(m)
}

// restoreCmd puts a backup in place.
type restoreCmd struct {
	dataFlag
	File string `arg:"" name:"file" help:"A file that backup wrote, or a snapshot from before a migration."`
}

func (restoreCmd) speaksJSON() bool { return true }

// restoredDocument is what restore prints.
type restoredDocument struct {
	Database  string  `json:"database"`
	SHA256    string  `json:"sha256"`
	Schema    int     `json:"schema"`
	AuditSeq  int64   `json:"audit_seq"`
	AuditHash string  `json:"audit_hash"`
	Kept      *string `json:"kept"`             // what was there before; null when nothing was
	Newer     int64   `json:"newer_audit_rows"` // of what was there before; -1 when it could not be read
}

// Run restores the file.
func (cmd *restoreCmd) Run(ctx context.Context, env *environ) error {
	dir, err := cmd.dir(env)
	if err != nil {
		return err
	}
	done, err := store.Restore(ctx, store.Options{Dir: dir, Now: env.Now, Logger: env.logger(false)}, cmd.File)
	if err != nil {
		return err
	}
	out := restoredDocument{
		Database: done.Path, SHA256: hex.EncodeToString(done.SHA256[:]), Schema: done.Schema,
		AuditSeq: done.AuditSeq, AuditHash: hex.EncodeToString(done.AuditHash[:]), Newer: done.Newer,
	}
	env.say("%s is in place; its structure and references were checked.", done.Path)
	if done.Kept != "" {
		out.Kept = &done.Kept
		env.say("What was there before is kept as %s.", done.Kept)
	}
	switch {
	case done.Newer > 0:
		env.say("It has %s that the backup has not, of changes that were made after it.", counted(int(done.Newer), "audit row"))
	case done.Newer < 0:
		env.say("It could not be read, so nothing is known about what it has beyond the backup.")
	}
	env.say("%s", next("doctor", "--data", dir))
	return env.document(out)
}

// auditCmd looks after the audit trail.
type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Recompute every hash of the audit trail, and compare runs, results, collections, verdicts and tokens with it."`
}

type auditVerifyCmd struct {
	dataFlag
	Seq  int64  `placeholder:"N" help:"A row number that was kept elsewhere, such as a manifest's audit_seq,"`
	Hash string `placeholder:"HEX" help:"and the hash that it had then."`
}

func (auditVerifyCmd) speaksJSON() bool { return true }

// Run verifies the trail, that the records are what it says, and that it still
// holds a head that was kept.
func (cmd *auditVerifyCmd) Run(ctx context.Context, env *environ) error {
	kept, err := hex.DecodeString(cmd.Hash)
	if err != nil || (cmd.Seq > 0) != (len(kept) == 32) {
		return usagef("--seq and --hash belong together: a row number and 64 hex digits, as a manifest has them")
	}
	st, err := cmd.look(ctx, env)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := st.VerifyAudit(ctx); err != nil {
		return err
	}
	differ, err := st.VerifyRecords(ctx)
	if err == nil && len(differ) > 0 {
		err = fmt.Errorf("the audit trail fits, and the database does not hold what it says: %s; %s", strings.Join(differ, ", "), recordsFix)
	}
	if err != nil {
		return err
	}
	if cmd.Seq > 0 {
		if err := st.AuditHolds(ctx, cmd.Seq, [32]byte(kept)); err != nil {
			return err
		}
	}
	seq, hash, err := st.AuditHead(ctx)
	if err != nil {
		return err
	}
	env.say("%s fit, and the records are what they say. The head is row %d, %x: whoever keeps it can prove later that nothing up to it was changed.", counted(int(seq), "audit row"), seq, hash)
	return env.document(map[string]any{"ok": true, "rows": seq, "audit_seq": seq, "audit_hash": hex.EncodeToString(hash[:])})
}

// migrateCmd brings a database to this version's schema.
type migrateCmd struct {
	dataFlag
	Check bool `help:"Only rehearse it on a copy, which is checked whole and thrown away; the arena may be serving."`
}

func (migrateCmd) speaksJSON() bool { return true }

// Run rehearses the pending migrations, and applies them unless --check.
func (cmd *migrateCmd) Run(ctx context.Context, env *environ) error {
	dir, err := cmd.dir(env)
	if err != nil {
		return err
	}
	o := store.Options{Dir: dir, Now: env.Now, Logger: env.logger(false)}
	r, err := store.Rehearse(ctx, o)
	if err != nil {
		return err
	}
	switch {
	case len(r.Pending) == 0:
		env.say("The database is at schema %04d; nothing is pending.", r.To)
	case cmd.Check:
		env.say("From schema %04d to %04d: %s went well on a copy.", r.From, r.To, counted(len(r.Pending), "migration"))
		env.say("%s", next("migrate", "--data", dir))
	default:
		st, err := store.Open(ctx, o)
		if err != nil {
			return err
		}
		if err := st.Close(); err != nil {
			return err
		}
		env.say("From schema %04d to %04d. A copy from before is kept in %s; arena restore goes back to it.", r.From, r.To, dir)
	}
	return env.document(r)
}
