-- The schema that the migrations lead to. Generated; see store/migrate_test.go.

CREATE TABLE migrations (
  number  INTEGER PRIMARY KEY,
  name    TEXT    NOT NULL,
  sha256  TEXT    NOT NULL, -- of the file, so that an edited one is noticed
  applied INTEGER NOT NULL
) STRICT;

CREATE TABLE requests (
  kind       TEXT    NOT NULL CHECK (kind IN ('launch', 'message')),
  request_id TEXT    NOT NULL CHECK (length(request_id) BETWEEN 8 AND 120),
  owner      TEXT    NOT NULL,
  body_hash  BLOB    NOT NULL CHECK (length(body_hash) = 32), -- SHA-256 of what was asked for
  object     TEXT    NOT NULL,                                -- what the request made
  created    INTEGER NOT NULL,                                -- this and every time: microseconds since 1970, UTC
  PRIMARY KEY (kind, request_id)                              -- one effect per request id
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT    NOT NULL CHECK (kind IN ('submission', 'run-state', 'run-stage', 'result', 'message', 'verdict')),
  at         INTEGER NOT NULL,
  challenge  TEXT    NOT NULL,
  run        TEXT    NOT NULL,
  collection TEXT    NOT NULL,
  message    TEXT    NOT NULL,
  state      TEXT    NOT NULL,
  stage      TEXT    NOT NULL
) STRICT;

CREATE TABLE audit (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  at           INTEGER NOT NULL,
  actor        TEXT    NOT NULL CHECK (actor <> ''),
  action       TEXT    NOT NULL CHECK (action <> ''),
  object       TEXT    NOT NULL CHECK (object <> ''),
  request_id   TEXT    NOT NULL,
  state_before TEXT    NOT NULL,
  state_after  TEXT    NOT NULL,
  hash         BLOB    NOT NULL CHECK (length(hash) = 32) -- SHA-256 over the row before's hash and this row
) STRICT;

CREATE TRIGGER requests_keep  BEFORE UPDATE ON requests BEGIN SELECT RAISE(ABORT, 'request ids are append-only'); END;

CREATE TRIGGER requests_stay  BEFORE DELETE ON requests BEGIN SELECT RAISE(ABORT, 'request ids are append-only'); END;

CREATE TRIGGER events_keep    BEFORE UPDATE ON events   BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_stay    BEFORE DELETE ON events   BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER audit_keep     BEFORE UPDATE ON audit    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

CREATE TRIGGER audit_stay     BEFORE DELETE ON audit    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

CREATE TABLE agents (
  id          TEXT    PRIMARY KEY,
  owner       TEXT    NOT NULL CHECK (owner <> ''),
  description TEXT    NOT NULL,
  model       TEXT    NOT NULL,
  harness     TEXT    NOT NULL,
  created     INTEGER NOT NULL
) STRICT;

CREATE INDEX agents_by_time  ON agents (created, id);

CREATE INDEX agents_by_owner ON agents (owner, created, id);

CREATE TRIGGER agents_keep BEFORE UPDATE ON agents BEGIN SELECT RAISE(ABORT, 'registrations are immutable'); END;

CREATE TRIGGER agents_stay BEFORE DELETE ON agents BEGIN SELECT RAISE(ABORT, 'registrations are immutable'); END;

CREATE TABLE tokens (
  id      TEXT    PRIMARY KEY,
  name    TEXT    NOT NULL CHECK (name <> ''),
  editor  INTEGER NOT NULL CHECK (editor IN (0, 1)),
  sha256  BLOB    NOT NULL UNIQUE CHECK (length(sha256) = 32),
  created INTEGER NOT NULL,
  revoked INTEGER
) STRICT;

CREATE TRIGGER tokens_keep BEFORE UPDATE ON tokens
WHEN OLD.revoked IS NOT NULL OR NEW.id IS NOT OLD.id OR NEW.name IS NOT OLD.name OR NEW.editor IS NOT OLD.editor OR NEW.sha256 IS NOT OLD.sha256
BEGIN SELECT RAISE(ABORT, 'a token can only be revoked, once'); END;

CREATE TRIGGER tokens_stay BEFORE DELETE ON tokens BEGIN SELECT RAISE(ABORT, 'tokens are revoked, not deleted'); END;

CREATE TABLE messages (
  filename   TEXT    PRIMARY KEY,
  request_id TEXT    NOT NULL UNIQUE,
  author     TEXT    NOT NULL CHECK (author <> ''),
  agent      TEXT    REFERENCES agents (id), -- null: the person posts as themselves
  body       TEXT    NOT NULL CHECK (body <> ''),
  refs       TEXT    NOT NULL CHECK (json_type(refs) = 'array'), -- filenames of messages; they are never deleted
  created    INTEGER NOT NULL
) STRICT;

CREATE INDEX messages_by_time ON messages (created, filename);

CREATE TRIGGER messages_keep BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'messages are immutable'); END;

CREATE TRIGGER messages_stay BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'messages are immutable'); END;

CREATE TABLE blobs (
  id     INTEGER PRIMARY KEY,
  sha256 BLOB    UNIQUE CHECK (length(sha256) = 32), -- null while a large blob is still being written
  size   INTEGER NOT NULL CHECK (size >= 0)
) STRICT;

CREATE TABLE blob_chunks (
  blob INTEGER NOT NULL REFERENCES blobs (id) ON DELETE CASCADE,
  n    INTEGER NOT NULL CHECK (n >= 0), -- piece n starts at byte n × 1 MiB
  body BLOB    NOT NULL,                -- zstd
  PRIMARY KEY (blob, n)
) STRICT;

CREATE TABLE trees (
  id      INTEGER PRIMARY KEY,
  kind    TEXT    NOT NULL CHECK (kind IN ('bundle', 'artifacts')),
  name    TEXT    NOT NULL, -- a bundle's git tree id; a run's id
  files   INTEGER NOT NULL CHECK (files >= 0),
  bytes   INTEGER NOT NULL CHECK (bytes >= 0),
  created INTEGER NOT NULL,
  UNIQUE (kind, name)
) STRICT;

CREATE TABLE tree_files (
  tree     INTEGER NOT NULL REFERENCES trees (id) ON DELETE CASCADE,
  path     TEXT    NOT NULL CHECK (path <> ''),
  kind     TEXT    NOT NULL CHECK (kind IN ('file', 'executable', 'symlink', 'submodule')),
  size     INTEGER NOT NULL CHECK (size >= 0),
  git_blob TEXT    NOT NULL,
  blob     INTEGER REFERENCES blobs (id), -- null for what has no body: links and submodules
  PRIMARY KEY (tree, path),
  CHECK ((blob IS NOT NULL) = (kind IN ('file', 'executable')))
) STRICT, WITHOUT ROWID;

CREATE INDEX tree_files_by_blob ON tree_files (blob);

CREATE TABLE collections (
  id         TEXT    PRIMARY KEY,
  author     TEXT    NOT NULL CHECK (author <> ''),
  agent      TEXT    REFERENCES agents (id), -- null: the person submitted it
  track      TEXT    NOT NULL CHECK (track <> ''),
  challenge  TEXT    NOT NULL, -- the challenge it was submitted to; empty when to a track
  repo_type  TEXT    NOT NULL CHECK (repo_type IN ('dataset', 'github', 'bundle')),
  repo_id    TEXT    NOT NULL,
  revision   TEXT    NOT NULL,
  entry_path TEXT    NOT NULL,
  title      TEXT    NOT NULL,
  notes      TEXT    NOT NULL,
  team       TEXT    NOT NULL,
  tasks      INTEGER NOT NULL CHECK (tasks >= 0),
  warnings   TEXT    NOT NULL CHECK (json_valid(warnings)),
  static     TEXT    NOT NULL CHECK (json_valid(static)), -- the compact report of the static gates
  created    INTEGER NOT NULL,
  UNIQUE (author, track, repo_type, repo_id, revision, entry_path)
) STRICT;

CREATE INDEX collections_by_time      ON collections (created, id);

CREATE INDEX collections_by_challenge ON collections (challenge, created, id);

CREATE INDEX collections_by_author    ON collections (author, created, id);

CREATE TRIGGER collections_keep BEFORE UPDATE ON collections BEGIN SELECT RAISE(ABORT, 'collections are immutable'); END;

CREATE TRIGGER collections_stay BEFORE DELETE ON collections BEGIN SELECT RAISE(ABORT, 'collections are immutable'); END;

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
  progress         TEXT    NOT NULL CHECK (json_valid(progress)), cancel_taken INTEGER, image TEXT NOT NULL DEFAULT '',

  CHECK ((settled IS NULL) = (settled_at IS NULL)),
  CHECK ((settled IS NULL) = (state IN ('queued', 'running'))),
  CHECK ((ended IS NULL) = (state IN ('queued', 'running')))
) STRICT;

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

CREATE TABLE log_chunks (
  run        TEXT    NOT NULL REFERENCES runs (id),
  first_line INTEGER NOT NULL CHECK (first_line >= 1),
  first_byte INTEGER NOT NULL CHECK (first_byte >= 0), -- where it starts in the log as text, lines ended by LF
  lines      INTEGER NOT NULL CHECK (lines >= 1),
  bytes      INTEGER NOT NULL CHECK (bytes >= 0),      -- of text
  body       BLOB    NOT NULL,                         -- zstd
  PRIMARY KEY (run, first_line)
) STRICT;

CREATE TABLE log_cursors (
  run      TEXT    PRIMARY KEY REFERENCES runs (id),
  position INTEGER NOT NULL, -- the provider's position after the last stored line
  fold     BLOB              -- state of the log fold there
) STRICT;

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

CREATE TABLE verdicts (
  collection  TEXT    NOT NULL REFERENCES collections (id),
  challenge   TEXT    NOT NULL CHECK (challenge <> ''),
  version     INTEGER NOT NULL CHECK (version >= 1),
  plan_digest TEXT    NOT NULL,
  tasks       TEXT    NOT NULL CHECK (json_type(tasks) = 'array'),
  attached_by TEXT    NOT NULL CHECK (attached_by <> ''),
  attached    INTEGER NOT NULL, revision      TEXT NOT NULL DEFAULT '', gate_set      TEXT NOT NULL DEFAULT '', policy_digest TEXT NOT NULL DEFAULT '', options       TEXT NOT NULL DEFAULT '{}' CHECK (json_type(options) = 'object'),
  PRIMARY KEY (collection, challenge, version)
) STRICT;

CREATE TRIGGER verdicts_keep BEFORE UPDATE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are kept; attach a new version'); END;

CREATE TRIGGER verdicts_stay BEFORE DELETE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are kept; attach a new version'); END;

CREATE INDEX runs_money    ON runs (settled, reserved);

CREATE INDEX runs_by_state ON runs (challenge, state, since, id);

CREATE INDEX jobs_money    ON jobs (billed);

CREATE TABLE collection_briefs (
  collection TEXT PRIMARY KEY REFERENCES collections (id),
  static     TEXT NOT NULL CHECK (json_valid(static))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER collection_briefs_keep BEFORE UPDATE ON collection_briefs BEGIN SELECT RAISE(ABORT, 'collections are immutable'); END;

CREATE TRIGGER collection_briefs_stay BEFORE DELETE ON collection_briefs BEGIN SELECT RAISE(ABORT, 'collections are immutable'); END;

CREATE INDEX runs_in_lists    ON runs (collection, created, id, challenge, state, stage);

CREATE INDEX results_in_lists ON results (run, verification);

CREATE TABLE sessions (
  sha256  BLOB    PRIMARY KEY CHECK (length(sha256) = 32),
  name    TEXT    NOT NULL CHECK (name <> ''),
  orgs    TEXT    NOT NULL, -- JSON array of names
  editor  INTEGER NOT NULL CHECK (editor IN (0, 1)),
  note    TEXT    NOT NULL, -- why the account is no editor
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL CHECK (expires > created)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_expiry ON sessions (expires);

CREATE TABLE claims (
  run        TEXT    PRIMARY KEY REFERENCES results (run),
  claimed_by TEXT    NOT NULL CHECK (claimed_by <> ''),
  claimed    INTEGER NOT NULL,
  expires    INTEGER NOT NULL CHECK (expires >= claimed) -- equal when it was given up
) STRICT;

CREATE TABLE relays (
  run             TEXT    PRIMARY KEY REFERENCES runs (id),
  job_sha256      BLOB    NOT NULL CHECK (length(job_sha256) = 32),
  model_sha256    BLOB    NOT NULL CHECK (length(model_sha256) = 32),
  requests        INTEGER NOT NULL DEFAULT 0 CHECK (requests >= 0),
  succeeded       INTEGER NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
  rejected        INTEGER NOT NULL DEFAULT 0 CHECK (rejected >= 0),
  failed          INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
  aborted         INTEGER NOT NULL DEFAULT 0 CHECK (aborted >= 0),
  bytes_in        INTEGER NOT NULL DEFAULT 0 CHECK (bytes_in >= 0),
  bytes_out       INTEGER NOT NULL DEFAULT 0 CHECK (bytes_out >= 0),
  connections     INTEGER NOT NULL DEFAULT 0 CHECK (connections >= 0),
  connected_since INTEGER,
  last_seen       INTEGER, lost_at INTEGER, in_flight INTEGER NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  CHECK ((connections = 0) = (connected_since IS NULL))
) STRICT;

CREATE TABLE hooks (
  name   TEXT    PRIMARY KEY,
  cursor INTEGER NOT NULL CHECK (cursor >= 0)
) STRICT;

CREATE TABLE deliveries (
  id      TEXT    PRIMARY KEY,
  hook    TEXT    NOT NULL REFERENCES hooks (name),
  event   INTEGER NOT NULL REFERENCES events (seq),
  state   TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  tries   INTEGER NOT NULL CHECK (tries >= 0),
  next_at INTEGER NOT NULL,
  status  INTEGER NOT NULL,
  problem TEXT    NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  UNIQUE (hook, event)
) STRICT;

CREATE INDEX deliveries_due ON deliveries (hook, next_at) WHERE state = 'pending';

CREATE INDEX deliveries_newest ON deliveries (created, id);

CREATE INDEX deliveries_done ON deliveries (updated) WHERE state <> 'pending';

CREATE INDEX deliveries_states ON deliveries (hook, state, created, tries);

CREATE INDEX deliveries_tried  ON deliveries (hook, updated) WHERE tries > 0;
