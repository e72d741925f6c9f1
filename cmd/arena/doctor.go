package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/fixture/world"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/backups"
)

// doctorCmd checks an arena and its machine.
type doctorCmd struct {
	dataFlag
	Configs string `placeholder:"DIR" help:"The directory that the arena is served with."`
	JSON    bool   `help:"Print nothing for people, only the JSON."`
	Fix     bool   `help:"Put right what can be put right without losing anything."`
	Online  bool   `help:"Also ask the hub and the code hosts that the configuration names whether they answer."`
}

func (doctorCmd) speaksJSON() bool { return true }

// doctorDocument is what doctor prints.
type doctorDocument struct {
	OK     bool                 `json:"ok"` // nothing failed; warnings may be there
	Checks []protocol.Diagnosis `json:"checks"`
}

// Run makes every check and exits 1 when one fails.
func (cmd *doctorCmd) Run(ctx context.Context, env *environ) error {
	dir, err := cmd.dir(env)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	d := &doctor{dir: dir, overlay: cmd.Configs, now: env.Now, getenv: env.Getenv, deep: true, fix: cmd.Fix, online: cmd.Online, transport: env.Transport}
	checks := d.examine(ctx)
	out := doctorDocument{OK: true, Checks: checks}
	for _, c := range checks {
		if c.Status == protocol.DiagnosisFail {
			out.OK = false
		}
		if !cmd.JSON {
			env.say("%-7s %-20s %s", c.Status, c.Check, c.Detail)
			if c.Fix != "" {
				env.say("%-28s → %s", "", c.Fix)
			}
		}
	}
	if err := env.document(out); err != nil {
		return err
	}
	if !out.OK {
		return &verdict{code: exitError, text: "something is wrong with the arena"}
	}
	return nil
}

// doctor looks at one arena. Checks come in an order in which later ones rest on
// earlier ones: a directory, a database in it, what the database says.
type doctor struct {
	dir     string // data directory
	overlay string // configuration directory; empty for none
	now     func() time.Time
	getenv  func(string) string

	deep      bool // read the whole database; false in the server, which must stay quick
	fix       bool
	online    bool
	transport httpTransport

	store  *store.Store // open already in the server; opened to look at otherwise
	owned  bool         // a server runs on the directory
	config configs.Config
	exam   store.Examination
	all    []protocol.Diagnosis
}

// examine makes every check, in order.
func (d *doctor) examine(ctx context.Context) []protocol.Diagnosis {
	given := d.store != nil
	d.checkConfig()
	if d.checkDirectory() {
		sound := d.checkDatabase(ctx)
		d.checkLeftovers() // once it is known whether an arena runs
		if sound {
			d.checkRecords(ctx)
			d.checkBackups(ctx)
			d.checkHooks(ctx)
		}
	}
	d.checkMachine()
	d.checkOutside(ctx)
	if !given && d.store != nil {
		if err := d.store.Close(); err != nil {
			d.fail("close", "", "%v", err)
		}
	}
	return d.all
}

func (d *doctor) add(check string, status protocol.DiagnosisStatus, fix, format string, args ...any) {
	d.all = append(d.all, protocol.Diagnosis{Check: check, Status: status, Fix: fix, Detail: strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")})
}

func (d *doctor) ok(check, format string, args ...any) {
	d.add(check, protocol.DiagnosisOK, "", format, args...)
}

func (d *doctor) skip(check, format string, args ...any) {
	d.add(check, protocol.DiagnosisSkipped, "", format, args...)
}

func (d *doctor) warn(check, fix, format string, args ...any) {
	d.add(check, protocol.DiagnosisWarn, fix, format, args...)
}

func (d *doctor) fail(check, fix, format string, args ...any) {
	d.add(check, protocol.DiagnosisFail, fix, format, args...)
}

// none is ok when a list is empty, and otherwise says what is wrong with its
// members.
func (d *doctor) none(check string, list []string, bad protocol.DiagnosisStatus, fix, well, what string) {
	if len(list) == 0 {
		d.ok(check, "%s", well)
		return
	}
	d.add(check, bad, fix, "%s: %s", what, strings.Join(list, ", "))
}

// mend is a fault that doctor can put right by itself: with --fix it does, and
// without it says so.
func (d *doctor) mend(check string, status protocol.DiagnosisStatus, fix string, repair func() error, format string, args ...any) {
	d.add(check, status, fix, format, args...)
	last := &d.all[len(d.all)-1]
	if last.Safe = true; !d.fix {
		return
	}
	if err := repair(); err != nil {
		last.Detail += fmt.Sprintf(" (it could not be put right: %v)", err)
		return
	}
	last.Status, last.Safe = protocol.DiagnosisFixed, false
}

// asMocked goes on with the configuration that a mocked arena runs on: its cap is
// that of its history.
func (d *doctor) asMocked(ctx context.Context) {
	mock, err := d.store.Mock(ctx)
	if err != nil || mock == nil {
		return
	}
	if cfg, err := world.Config(d.config, *mock); err == nil {
		d.config = cfg
	}
}

// checkRecords judges what the database says about itself.
func (d *doctor) checkRecords(ctx context.Context) {
	d.asMocked(ctx)
	var err error
	if d.exam, err = d.store.Examine(ctx); err != nil {
		d.fail("records", "restore a backup if the database is damaged", "the records cannot be examined: %v", err)
		return
	}
	e := d.exam
	if e.JournalMode == "wal" {
		d.ok("pragmas", "journal_mode is wal; every connection read its settings back")
	} else {
		d.fail("pragmas", "start the arena once, which sets it", "journal_mode is %s instead of wal", e.JournalMode)
	}
	const wal = 256 << 20
	if e.WALBytes > wal {
		d.warn("wal-size", "a reader that never ends keeps it from being emptied; restart the arena", "the write-ahead log has %d MiB", e.WALBytes>>20)
	} else {
		d.ok("wal-size", "the write-ahead log has %d KiB", e.WALBytes>>10)
	}
	if e.Pages > 1000 && e.FreePages*2 > e.Pages {
		d.warn("free-pages", "arena backup writes a copy without them; restore that", "%d of %d pages of the database are empty", e.FreePages, e.Pages)
	} else {
		d.ok("free-pages", "%d of %d pages are empty", e.FreePages, e.Pages)
	}
	d.checkMoney()
	d.checkRuns()
	d.checkContent()
	d.checkPeople()
	d.checkTime()
}

func (d *doctor) checkMoney() {
	e := d.exam
	if e.Ledger == e.Recount {
		d.ok("ledger-arithmetic", "$%s settled, $%s reserved, $%s recorded by providers, added up in two ways", e.Ledger.Settled, e.Ledger.Live, e.Ledger.Recorded)
	} else {
		d.fail("ledger-arithmetic", "restore a backup: no way of working with the arena leads here", "the ledger says %+v and the runs add up to %+v", e.Ledger, e.Recount)
	}
	d.none("bills", e.BadBills, protocol.DiagnosisWarn, "compare with what the provider billed; launches count the larger of the two", "what runs were settled with is what their jobs were billed", "settled with another amount than their job was billed")
	d.none("open-bills", e.OpenBills, protocol.DiagnosisFail, "restart the arena, which asks the provider again", "every job of an ended run has ended", "ended, and their job has not")
	l := e.Ledger
	var err error
	if l.Cap, err = protocol.ParseMicros(string(d.config.Arena.Budget.Cap)); err == nil {
		l.Prior, err = protocol.ParseMicros(string(d.config.Arena.Budget.PriorAllowance))
	}
	switch {
	case err != nil:
		d.skip("cap", "the configuration does not load")
	case l.Remaining() < 0:
		d.fail("cap", "raise budget.cap, or cancel the live run", "$%s are committed, the cap is $%s", l.Committed(), l.Cap)
	default:
		d.ok("cap", "$%s left of $%s", l.Remaining(), l.Cap)
	}
}

func (d *doctor) checkRuns() {
	e := d.exam
	late := time.Duration(max(d.config.Arena.Stalled.NoJobMinutes, 5)) * time.Minute
	switch {
	case len(e.NoJob) == 0:
		d.ok("reservations", "every live run has its job")
	case d.now().Sub(e.OldestNoJob) < late:
		d.ok("reservations", "%s waits for its provider to confirm a job", strings.Join(e.NoJob, ", "))
	case d.owned:
		d.warn("reservations", "look at the arena's log for what its provider answers; nothing is launched twice meanwhile", "no job is known for %s since %s", strings.Join(e.NoJob, ", "), e.OldestNoJob.Format(time.RFC3339))
	default:
		d.warn("reservations", "start the arena: it finds the job, or proves that there is none and releases the money", "no job is known for %s, and no arena runs that would look for it", strings.Join(e.NoJob, ", "))
	}
	d.none("overdue-runs", e.Overdue, protocol.DiagnosisWarn, "arena cancel, then look at the provider's own page", "no run is beyond its time limit", "an hour beyond their time limit")
	d.none("unreachable", e.Unreachable, protocol.DiagnosisWarn, "look at the provider's status page; nothing is canceled or launched because of it", "providers answer about every live run", "their provider does not answer")
	d.none("cancels", e.Cancelling, protocol.DiagnosisWarn, "look at the provider's own page and stop the job there", "no cancel is outstanding", "go on an hour after they were to be canceled")
	d.none("results", e.LostRuns, protocol.DiagnosisFail, "restore a backup", "every result belongs to a scored run", "have a result and are not scored")
	const patience = 14 * 24 * time.Hour
	if e.Pending > 0 && d.now().Sub(e.LongestWait) > patience {
		d.warn("reviews", "arena tui, screen Results", "%s waits for a review, the oldest since %s", counted(e.Pending, "result"), e.LongestWait.Format(time.DateOnly))
	} else {
		d.ok("reviews", "%s for a review, %s not collected", counted(e.Pending, "result"), counted(e.Uncollected, "scored run"))
	}
}

func (d *doctor) checkContent() {
	e := d.exam
	d.none("logs", e.LogGaps, protocol.DiagnosisFail, "restore a backup", "the pieces of every log follow each other and add up", "logs with holes")
	d.none("trees", e.BrokenTrees, protocol.DiagnosisFail, "restore a backup", "uploads and artifacts have every file that they name", "with fewer files than they name")
	d.none("bodies", e.BadBlobs, protocol.DiagnosisFail, "restore a backup; the disk may be failing", fmt.Sprintf("%s read again and have their hash", counted(e.SampledBlobs, "stored file")), "do not have their hash")
	if e.LooseBlobs > 100_000 {
		d.warn("loose-bodies", "restart the arena, which sweeps them", "%d bodies belong to no upload", e.LooseBlobs)
	} else {
		d.ok("loose-bodies", "%d", e.LooseBlobs)
	}
}

func (d *doctor) checkPeople() {
	e := d.exam
	hub := d.config.Arena.Identity.Mode == configs.IdentityHub
	switch {
	case e.EditorTokens == 0 && !hub:
		d.warn("editors", "arena token create --name NAME --editor", "no working token is an editor's, so nobody can review")
	default:
		d.ok("editors", "%s, %d of editors", counted(e.Tokens, "working token"), e.EditorTokens)
	}
	d.ok("sessions", "%d signed in, %d expired and not swept yet", e.Sessions, e.OldSessions)
}

// checkTime requires that nothing in the database is from the future: a clock
// that was set back makes daily limits and pages wrong.
func (d *doctor) checkTime() {
	e := d.exam
	const drift = time.Minute
	if ahead := e.Newest.Sub(d.now()); ahead > drift {
		d.fail("clock", "set the machine's clock right (timedatectl); daily limits are measured with it", "the newest record is %s from the future", ahead.Round(time.Second))
	} else {
		d.ok("clock", "no record is from the future")
	}
	if e.AuditHole || e.EventHole {
		d.fail("history", "arena audit verify names the row; restore a backup", "rows of the audit trail or of the events are missing")
	} else {
		d.ok("history", "audit rows and events are numbered without a gap, the last is row %d", e.Audit)
	}
}

// backupDir is where the arena's scheduled backups are.
func backupDir(cfg configs.Config, data string) string {
	dir := cfg.Arena.Backups.Directory
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(data, dir)
}

func (d *doctor) checkBackups(ctx context.Context) {
	dir := backupDir(d.config, d.dir)
	every := time.Duration(d.config.Arena.Backups.EveryHours) * time.Hour
	all, err := backups.List(dir)
	keeper := backups.Keeper{Store: d.store, Dir: dir, Every: every, Keep: max(1, d.config.Arena.Backups.Keep), Drill: true, Now: d.now}
	once := func() error {
		_, err := keeper.Once(ctx)
		return err
	}
	switch {
	case err != nil:
		d.fail("backup-age", "", "%v", err)
	case every == 0:
		d.warn("backup-age", "set backups.every_hours, or run arena backup from a timer", "scheduled backups are switched off")
	case len(all) == 0:
		d.mend("backup-age", protocol.DiagnosisWarn, "arena doctor --fix makes one now; arena serve makes the first after an hour", once, "there is no backup in %s", dir)
	case d.now().Sub(all[0].Made) > 2*every:
		d.mend("backup-age", protocol.DiagnosisFail, "arena doctor --fix makes one now; look into the arena's log for why it did not", once, "the newest backup is from %s", all[0].Made.Format(time.RFC3339))
	default:
		d.ok("backup-age", "%s, the newest is from %s", counted(len(all), "backup"), all[0].Made.Format(time.RFC3339))
	}
	if len(all) == 0 {
		d.skip("backup-drill", "there is no backup to restore")
		d.skip("audit-anchor", "there is no manifest to compare with")
		return
	}
	if !d.deep {
		d.skip("backup-drill", "arena doctor restores the newest backup for practice")
	} else if err := backups.Drill(ctx, all[0].Path, dir, d.now); err != nil {
		d.fail("backup-drill", "make a new one with arena backup, and look at the disk", "the newest backup cannot be restored: %v", err)
	} else {
		d.ok("backup-drill", "the newest backup was restored into a scratch directory and is sound")
	}
	d.checkAnchors(ctx, all)
}

// checkAnchors requires that the trail still holds the heads that manifests kept.
func (d *doctor) checkAnchors(ctx context.Context, all []backups.Found) {
	for _, b := range all {
		hash, err := decodeHash(b.AuditHash)
		if err == nil && b.AuditSeq > 0 {
			err = d.store.AuditHolds(ctx, b.AuditSeq, hash)
		}
		if err != nil {
			d.fail("audit-anchor", "somebody wrote the audit trail anew, or an older database was put in place; compare with the backup", "%s: %v", filepath.Base(b.Path), err)
			return
		}
	}
	d.ok("audit-anchor", "the trail still holds the heads that %s kept", counted(len(all), "manifest"))
}

// checkLeftovers finds files that a process which was killed did not finish.
func (d *doctor) checkLeftovers() {
	var found []string
	for _, pattern := range []string{"*.partial", "*.partial-journal", store.DatabaseName + ".restoring", "rehearsal-*"} {
		names, _ := filepath.Glob(filepath.Join(d.dir, pattern)) // the patterns are good
		found = append(found, names...)
	}
	if !d.owned { // an arena may be making a backup
		found = append(found, backups.Unfinished(backupDir(d.config, d.dir))...)
	}
	slices.Sort(found)
	if len(found) == 0 {
		d.ok("leftovers", "nothing is left of a backup, a restore or a rehearsal that was cut off")
		return
	}
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = filepath.Base(f)
	}
	d.mend("leftovers", protocol.DiagnosisWarn, "arena doctor --fix removes them", func() error { return removeAll(found) }, "cut off: %s", strings.Join(names, ", "))
}

// notThere reports whether an error says that a file is missing.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
