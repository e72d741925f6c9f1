-- What lists show of a collection's static report: everything but what is said
-- task by task, which makes a report a hundred times as long.

CREATE TABLE collection_briefs (
  collection TEXT PRIMARY KEY REFERENCES collections (id),
  static     TEXT NOT NULL CHECK (json_valid(static))
) STRICT, WITHOUT ROWID;

INSERT INTO collection_briefs SELECT id, json_remove(static, '$.findings', '$.excluded', '$.task_identity', '$.problems') FROM collections;

CREATE TRIGGER collection_briefs_keep BEFORE UPDATE ON collection_briefs BEGIN SELECT RAISE(ABORT, 'collections are immutable'); END;
CREATE TRIGGER collection_briefs_stay BEFORE DELETE ON collection_briefs BEGIN SELECT RAISE(ABORT, 'collections are immutable'); END;
