-- Verdicts of the dynamic gates. Attaching again adds a version.

CREATE TABLE verdicts (
  collection  TEXT    NOT NULL REFERENCES collections (id),
  challenge   TEXT    NOT NULL CHECK (challenge <> ''),
  version     INTEGER NOT NULL CHECK (version >= 1),
  plan_digest TEXT    NOT NULL,
  tasks       TEXT    NOT NULL CHECK (json_type(tasks) = 'array'),
  attached_by TEXT    NOT NULL CHECK (attached_by <> ''),
  attached    INTEGER NOT NULL,
  PRIMARY KEY (collection, challenge, version)
) STRICT;

CREATE TRIGGER verdicts_keep BEFORE UPDATE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are kept; attach a new version'); END;
CREATE TRIGGER verdicts_stay BEFORE DELETE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are kept; attach a new version'); END;
