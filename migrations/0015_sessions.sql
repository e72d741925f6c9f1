-- Sign-ins with a browser. A session's secret is never stored, only its SHA-256,
-- and the hub's token not at all. Rows go when they have expired.

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
