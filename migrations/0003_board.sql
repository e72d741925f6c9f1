-- The shared board.

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
