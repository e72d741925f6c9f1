-- What a verdict was given on: the commit, the set of gates, the policy and the
-- options of the plan. Verdicts from before say nothing about it.

ALTER TABLE verdicts ADD COLUMN revision      TEXT NOT NULL DEFAULT '';
ALTER TABLE verdicts ADD COLUMN gate_set      TEXT NOT NULL DEFAULT '';
ALTER TABLE verdicts ADD COLUMN policy_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE verdicts ADD COLUMN options       TEXT NOT NULL DEFAULT '{}' CHECK (json_type(options) = 'object');
