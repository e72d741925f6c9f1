-- The container image that the job of a run was asked for with: what is installed in it
-- is part of what was measured. Empty for runs from before, and where there is none.

ALTER TABLE runs ADD COLUMN image TEXT NOT NULL DEFAULT '';
