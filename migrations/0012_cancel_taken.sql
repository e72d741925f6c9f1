-- When the provider took the cancel of a run, so that a restart does not forget it.

ALTER TABLE runs ADD COLUMN cancel_taken INTEGER;
