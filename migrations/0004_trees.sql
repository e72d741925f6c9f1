-- Trees of files (bundles, artifacts of runs) over blobs that are stored once,
-- by the SHA-256 of their content, in compressed pieces of at most 1 MiB.

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
