-- Who acts: registered agents and the arena's own tokens.

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

-- A token's secret is never stored, only its SHA-256.
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
