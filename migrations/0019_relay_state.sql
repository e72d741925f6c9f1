-- How the tunnel of a run stands, so that who looks at the database beside the
-- server sees it: lost_at is when it broke, and nothing while it holds; in_flight
-- is how many calls go through it.

ALTER TABLE relays ADD COLUMN lost_at INTEGER;
ALTER TABLE relays ADD COLUMN in_flight INTEGER NOT NULL DEFAULT 0 CHECK (in_flight >= 0);
