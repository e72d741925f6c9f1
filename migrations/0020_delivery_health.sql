-- How the deliveries to each webhook stand, without reading them: counted by state,
-- with the oldest and the most tried that wait, and the one that was tried last.

CREATE INDEX deliveries_states ON deliveries (hook, state, created, tries);
CREATE INDEX deliveries_tried  ON deliveries (hook, updated) WHERE tries > 0;
