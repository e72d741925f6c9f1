-- Registered collections of tasks. A record never changes: its natural key
-- names one commit.

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
