-- Runs with their reservations, and the providers' records of their jobs. Money
-- is integer micro-dollars.

CREATE TABLE runs (
  id               TEXT    PRIMARY KEY,
  request_id       TEXT    NOT NULL UNIQUE,
  challenge        TEXT    NOT NULL CHECK (challenge <> ''),
  collection       TEXT    NOT NULL REFERENCES collections (id),
  revision         TEXT    NOT NULL,
  author           TEXT    NOT NULL,
  launched_by      TEXT    NOT NULL CHECK (launched_by <> ''),
  agent            TEXT    REFERENCES agents (id), -- null: the person launched it

  state            TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'scored', 'failed', 'canceled')),
  stage            TEXT    NOT NULL CHECK (stage IN ('', 'setup', 'snapshot', 'baseline', 'gate', 'training', 'heldout', 'collect')),
  reason           TEXT    NOT NULL,
  fault            TEXT    NOT NULL CHECK (fault IN ('', 'platform', 'collection', 'limit', 'canceled')),
  since            INTEGER NOT NULL, -- when the state was reached

  provider         TEXT    NOT NULL,
  flavor           TEXT    NOT NULL,
  price            INTEGER NOT NULL CHECK (price >= 0),   -- per hour
  timeout          INTEGER NOT NULL CHECK (timeout >= 0), -- microseconds
  recipe           TEXT    NOT NULL,
  train_tasks      INTEGER NOT NULL CHECK (train_tasks >= 0),
  excluded_tasks   INTEGER NOT NULL CHECK (excluded_tasks >= 0),
  eval_tasks       INTEGER NOT NULL CHECK (eval_tasks >= 0),

  reserved         INTEGER NOT NULL CHECK (reserved >= 0),
  settled          INTEGER CHECK (settled >= 0), -- null while the reservation is live
  created          INTEGER NOT NULL,
  ended            INTEGER,
  settled_at       INTEGER,
  cancel_asked     INTEGER,
  cancel_asked_by  TEXT    NOT NULL DEFAULT '',
  unreachable_from INTEGER,

  log_lines        INTEGER NOT NULL DEFAULT 0 CHECK (log_lines >= 0),
  progress         TEXT    NOT NULL CHECK (json_valid(progress)),

  CHECK ((settled IS NULL) = (settled_at IS NULL)),
  CHECK ((settled IS NULL) = (state IN ('queued', 'running'))),
  CHECK ((ended IS NULL) = (state IN ('queued', 'running')))
) STRICT;

-- One run at a time across the arena: every active run has the same key.
CREATE UNIQUE INDEX one_active_run ON runs ((1)) WHERE state IN ('queued', 'running');

CREATE INDEX runs_by_time       ON runs (created, id);
CREATE INDEX runs_by_challenge  ON runs (challenge, created, id);
CREATE INDEX runs_by_collection ON runs (collection, challenge, created);
CREATE INDEX runs_by_author     ON runs (author, created, id);

CREATE TRIGGER runs_settled BEFORE UPDATE ON runs
WHEN OLD.settled IS NOT NULL AND (NEW.settled IS NOT OLD.settled OR NEW.settled_at IS NOT OLD.settled_at OR NEW.state IS NOT OLD.state OR NEW.ended IS NOT OLD.ended)
BEGIN SELECT RAISE(ABORT, 'a settled run keeps its amount and its state'); END;

CREATE TRIGGER runs_keep BEFORE UPDATE ON runs
WHEN NEW.id IS NOT OLD.id OR NEW.request_id IS NOT OLD.request_id OR NEW.challenge IS NOT OLD.challenge OR NEW.collection IS NOT OLD.collection
  OR NEW.launched_by IS NOT OLD.launched_by OR NEW.price IS NOT OLD.price OR NEW.reserved IS NOT OLD.reserved OR NEW.created IS NOT OLD.created
BEGIN SELECT RAISE(ABORT, 'what was launched and reserved does not change'); END;

CREATE TRIGGER runs_stay BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'runs are never deleted'); END;

-- What a provider said about the job of a run. A run without a row here never
-- got a job.
CREATE TABLE jobs (
  run      TEXT    PRIMARY KEY REFERENCES runs (id),
  provider TEXT    NOT NULL,
  id       TEXT    NOT NULL CHECK (id <> ''),
  status   TEXT    NOT NULL, -- the provider's word
  url      TEXT    NOT NULL,
  started  INTEGER NOT NULL,
  ended    INTEGER,
  billed   INTEGER CHECK (billed >= 0),
  UNIQUE (provider, id),
  CHECK ((ended IS NULL) = (billed IS NULL))
) STRICT;

CREATE TRIGGER jobs_billed BEFORE UPDATE ON jobs
WHEN NEW.run IS NOT OLD.run OR NEW.provider IS NOT OLD.provider OR NEW.id IS NOT OLD.id
  OR (OLD.billed IS NOT NULL AND (NEW.billed IS NOT OLD.billed OR NEW.ended IS NOT OLD.ended))
BEGIN SELECT RAISE(ABORT, 'a job keeps its name and its bill'); END;

CREATE TRIGGER jobs_stay BEFORE DELETE ON jobs BEGIN SELECT RAISE(ABORT, 'jobs are never deleted'); END;
