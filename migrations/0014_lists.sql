-- What became of a collection's runs, for lists of collections: without these a
-- page reads the runs and results themselves, which are wide.

CREATE INDEX runs_in_lists    ON runs (collection, created, id, challenge, state, stage);
CREATE INDEX results_in_lists ON results (run, verification);
