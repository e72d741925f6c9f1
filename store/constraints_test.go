package store

import (
	"slices"
	"strings"
	"testing"

	lib "modernc.org/sqlite/lib"
)

// The result codes that only these tests tell apart.
const (
	constraintForeignKey = lib.SQLITE_CONSTRAINT_FOREIGNKEY
	constraintCheck      = lib.SQLITE_CONSTRAINT_CHECK
	constraintDatatype   = lib.SQLITE_CONSTRAINT_DATATYPE
)

// The rules that hold even against a program that writes rows by hand.
func TestTheDatabaseGuardsItself(t *testing.T) {
	const (
		aCollection = `INSERT INTO collections VALUES ('env-1', 'ada', NULL, 'tools', '', 'github', 'ada/tools', 'c0ffee', '', '', '', '', 1, '[]', '{}', 0)`
		aRun        = `INSERT INTO runs (id, request_id, challenge, collection, revision, author, launched_by, state, stage, reason, fault, since, provider, flavor, price, timeout, recipe, train_tasks, excluded_tasks, eval_tasks, reserved, created, progress) VALUES
  ('run-1', 'request-1', 'c', 'env-1', '', 'ada', 'ada', 'queued', '', '', '', 0, 'p', 'f', 5, 1, 'r', 1, 0, 1, 5, 0, '{}')`
		aSecondRun = `INSERT INTO runs (id, request_id, challenge, collection, revision, author, launched_by, state, stage, reason, fault, since, provider, flavor, price, timeout, recipe, train_tasks, excluded_tasks, eval_tasks, reserved, created, progress) VALUES
  ('run-2', 'request-2', 'd', 'env-1', '', 'ada', 'bob', 'running', '', '', '', 0, 'p', 'f', 5, 1, 'r', 1, 0, 1, 5, 0, '{}')`
		settle   = `UPDATE runs SET state = 'scored', settled = 4, settled_at = 9, ended = 9 WHERE id = 'run-1'`
		aJob     = `INSERT INTO jobs (run, provider, id, status, url, started) VALUES ('run-1', 'p', 'job-1', '', '', 0)`
		aResult  = `INSERT INTO results (run, score, cells, grpo_ran, grpo_effective_update, evidence_digest, report_url, job_url, verification, verification_note, collected_by, collected) VALUES ('run-1', '{}', '[]', 1, 1, '', '', '', 'pending', '', 'ada', 0)`
		accept   = `UPDATE results SET verification = 'valid', reviewed_by = 'ed', reviewed = 1`
		anAudit  = `INSERT INTO audit VALUES (1, 0, 'ada', 'launch', 'run:1', '', '', '', zeroblob(32))`
		anEvent  = `INSERT INTO events VALUES (1, 'message', 0, '', '', '', '', '', '')`
		aRequest = `INSERT INTO requests VALUES ('launch', 'request-1', 'ada', zeroblob(32), 'run-1', 0)`
		aToken   = `INSERT INTO tokens VALUES ('t', 'ada', 0, zeroblob(32), 0, NULL)`
	)
	s := openTest(t)
	for _, c := range []struct {
		about  string
		before []string
		try    string
		want   int // result code of SQLite
	}{
		{"one active run", []string{aCollection, aRun}, aSecondRun, constraintUnique},
		{"another run after the first ended", []string{aCollection, aRun, settle}, aSecondRun, 0},
		{"an ended run does not come back", []string{aCollection, aRun, settle}, `UPDATE runs SET state = 'failed'`, constraintTrigger},
		{"a settled amount stays", []string{aCollection, aRun, settle}, `UPDATE runs SET settled = 3`, constraintTrigger},
		{"a settled run can still reach a stage", []string{aCollection, aRun, settle}, `UPDATE runs SET stage = 'collect'`, 0},
		{"a reservation stays", []string{aCollection, aRun}, `UPDATE runs SET reserved = 3`, constraintTrigger},
		{"an active run has no bill", []string{aCollection, aRun}, `UPDATE runs SET settled = 1, settled_at = 1`, constraintCheck},
		{"an ended run has one", []string{aCollection, aRun}, `UPDATE runs SET state = 'failed', ended = 1`, constraintCheck},
		{"money is not below zero", []string{aCollection, aRun}, `UPDATE runs SET state = 'failed', ended = 1, settled = -1, settled_at = 1`, constraintCheck},
		{"states are the known ones", []string{aCollection, aRun}, `UPDATE runs SET state = 'paused'`, constraintCheck},
		{"money is whole", []string{aCollection, aRun}, `UPDATE runs SET state = 'failed', ended = 1, settled = 12.5, settled_at = 1`, constraintDatatype},
		{"runs belong to a collection", nil, aRun, constraintForeignKey},
		{"runs stay", []string{aCollection, aRun}, `DELETE FROM runs`, constraintTrigger},
		{"one job a run", []string{aCollection, aRun, aJob}, `INSERT INTO jobs (run, provider, id, status, url, started) VALUES ('run-1', 'p', 'job-2', '', '', 0)`, constraintPrimaryKey},
		{"a bill stays", []string{aCollection, aRun, aJob, `UPDATE jobs SET ended = 1, billed = 4`}, `UPDATE jobs SET billed = 3`, constraintTrigger},
		{"a review is final", []string{aCollection, aRun, settle, aResult, accept}, `UPDATE results SET verification = 'rejected'`, constraintTrigger},
		{"a note is part of it", []string{aCollection, aRun, settle, aResult, accept}, `UPDATE results SET verification_note = 'better'`, constraintTrigger},
		{"scores stay", []string{aCollection, aRun, settle, aResult}, `UPDATE results SET score = '{"delta_pp": 99}'`, constraintTrigger},
		{"a pending result has no reviewer", []string{aCollection, aRun, settle, aResult}, `UPDATE results SET reviewed_by = 'ed'`, constraintCheck},
		{"results stay", []string{aCollection, aRun, settle, aResult}, `DELETE FROM results`, constraintTrigger},
		{"one effect a request id", []string{aRequest}, `INSERT INTO requests VALUES ('launch', 'request-1', 'bob', zeroblob(32), 'run-2', 0)`, constraintPrimaryKey},
		{"another kind may use it", []string{aRequest}, `INSERT INTO requests VALUES ('message', 'request-1', 'bob', zeroblob(32), 'm', 0)`, 0},
		{"audit rows are not edited", []string{anAudit}, `UPDATE audit SET actor = 'bob'`, constraintTrigger},
		{"audit rows are not removed", []string{anAudit}, `DELETE FROM audit`, constraintTrigger},
		{"events are not edited", []string{anEvent}, `UPDATE events SET state = 'x'`, constraintTrigger},
		{"events are not removed", []string{anEvent}, `DELETE FROM events`, constraintTrigger},
		{"a token only gets revoked", []string{aToken}, `UPDATE tokens SET editor = 1`, constraintTrigger},
		{"a revoked one stays so", []string{aToken, `UPDATE tokens SET revoked = 1`}, `UPDATE tokens SET revoked = NULL`, constraintTrigger},
		{"collections do not change", []string{aCollection}, `UPDATE collections SET title = 'x'`, constraintTrigger},
	} {
		t.Run(c.about, func(t *testing.T) {
			tx, err := s.writer.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			for _, q := range c.before {
				if _, err := tx.Exec(q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}
			_, err = tx.Exec(c.try)
			if got := code(err); got != c.want || (err == nil) != (c.want == 0) {
				t.Errorf("%s: code %d (%v), want %d", c.try, got, err, c.want)
			}
		})
	}
}

func TestTheRunThatHasNotEndedIsFoundByItsIndex(t *testing.T) {
	s := openTest(t)
	rows, err := s.reader.QueryContext(t.Context(), "EXPLAIN QUERY PLAN SELECT "+runColumns+" FROM "+runTables+" WHERE r.id = "+liveRun+" ORDER BY r.created DESC, r.id DESC LIMIT 2")
	steps, err := many(rows, err, func(r scanner) (detail string, err error) {
		var none any
		return detail, r.Scan(&none, &none, &none, &detail)
	})
	if err != nil {
		t.Fatal(err)
	}
	const byIndex = "SCAN runs USING INDEX one_active_run"
	if !slices.Contains(steps, byIndex) || slices.ContainsFunc(steps, func(d string) bool { return strings.HasPrefix(d, "SCAN") && d != byIndex }) {
		t.Errorf("it is looked for among all runs: %q", steps)
	}
}
