-- What happened: the keys that make requests repeatable, the events that wake
-- readers, and the record of who changed what. Rows are only ever added.

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
