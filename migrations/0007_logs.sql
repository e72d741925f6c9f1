-- Job logs in compressed pieces, and where the arena stands in each.

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
