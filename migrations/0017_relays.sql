-- The tunnels of runs: the hashes of a run's two secrets, which are never stored
-- themselves, and what went through. Counters are rewritten at most once a second.

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
  last_seen       INTEGER,
  CHECK ((connections = 0) = (connected_since IS NULL))
) STRICT;
