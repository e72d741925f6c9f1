-- Events on their way to webhooks: how far each hook has read the events, and one
-- row for each event that it gets. Addresses and secrets of hooks stay in the
-- configuration.

CREATE TABLE hooks (
  name   TEXT    PRIMARY KEY,
  cursor INTEGER NOT NULL CHECK (cursor >= 0)
) STRICT;

CREATE TABLE deliveries (
  id      TEXT    PRIMARY KEY,
  hook    TEXT    NOT NULL REFERENCES hooks (name),
  event   INTEGER NOT NULL REFERENCES events (seq),
  state   TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  tries   INTEGER NOT NULL CHECK (tries >= 0),
  next_at INTEGER NOT NULL,
  status  INTEGER NOT NULL,
  problem TEXT    NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  UNIQUE (hook, event)
) STRICT;

CREATE INDEX deliveries_due ON deliveries (hook, next_at) WHERE state = 'pending';
CREATE INDEX deliveries_newest ON deliveries (created, id);
CREATE INDEX deliveries_done ON deliveries (updated) WHERE state <> 'pending';
