-- Indexes that hold everything a sum or a tally of runs needs, so that neither
-- reads the runs themselves, which are wide: every launch, budget and list of
-- challenges asks for them.

CREATE INDEX runs_money    ON runs (settled, reserved);
CREATE INDEX runs_by_state ON runs (challenge, state, since, id);
CREATE INDEX jobs_money    ON jobs (billed);
