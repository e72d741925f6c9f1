-- Collected results. What was measured never changes; a review decides once.

CREATE TABLE results (
  run                   TEXT    PRIMARY KEY REFERENCES runs (id),
  agent                 TEXT    REFERENCES agents (id),
  score                 TEXT    NOT NULL CHECK (json_valid(score)),
  cells                 TEXT    NOT NULL CHECK (json_valid(cells)), -- names sealed tasks: editors only
  grpo_ran              INTEGER NOT NULL CHECK (grpo_ran IN (0, 1)),
  grpo_effective_update INTEGER NOT NULL CHECK (grpo_effective_update IN (0, 1)),
  evidence_digest       TEXT    NOT NULL,
  report_url            TEXT    NOT NULL,
  job_url               TEXT    NOT NULL,
  collected_by          TEXT    NOT NULL CHECK (collected_by <> ''),
  collected             INTEGER NOT NULL,

  verification          TEXT    NOT NULL CHECK (verification IN ('pending', 'valid', 'rejected')),
  verification_note     TEXT    NOT NULL,
  reviewed_by           TEXT    NOT NULL DEFAULT '',
  reviewed              INTEGER,

  CHECK ((verification = 'pending') = (reviewed IS NULL)),
  CHECK ((verification = 'pending') = (reviewed_by = ''))
) STRICT;

CREATE TRIGGER results_reviewed BEFORE UPDATE ON results
WHEN OLD.verification <> 'pending'
BEGIN SELECT RAISE(ABORT, 'reviews are immutable'); END;

CREATE TRIGGER results_keep BEFORE UPDATE ON results
WHEN NEW.run IS NOT OLD.run OR NEW.agent IS NOT OLD.agent OR NEW.score IS NOT OLD.score OR NEW.cells IS NOT OLD.cells
  OR NEW.grpo_ran IS NOT OLD.grpo_ran OR NEW.grpo_effective_update IS NOT OLD.grpo_effective_update
  OR NEW.evidence_digest IS NOT OLD.evidence_digest OR NEW.collected_by IS NOT OLD.collected_by OR NEW.collected IS NOT OLD.collected
BEGIN SELECT RAISE(ABORT, 'what was measured does not change'); END;

CREATE TRIGGER results_stay BEFORE DELETE ON results BEGIN SELECT RAISE(ABORT, 'results are never deleted'); END;
