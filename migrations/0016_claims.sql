-- Claims: which editor looks at a pending result, until when, so that two do not
-- judge it at once. The newest claim takes the place of the one before.

CREATE TABLE claims (
  run        TEXT    PRIMARY KEY REFERENCES results (run),
  claimed_by TEXT    NOT NULL CHECK (claimed_by <> ''),
  claimed    INTEGER NOT NULL,
  expires    INTEGER NOT NULL CHECK (expires >= claimed) -- equal when it was given up
) STRICT;
