-- Whether the dead letters of a topic, or of all ('' as its name), are recorded for a handler.
-- @stop-unless-changed
INSERT INTO pawl_topic (name, dead)
SELECT :topic, :wanted WHERE :wanted OR EXISTS (SELECT 1 FROM pawl_topic WHERE name = :topic)
ON CONFLICT (name) DO UPDATE SET dead = excluded.dead WHERE dead <> excluded.dead;

SELECT 1;

DELETE FROM pawl_topic WHERE name = :topic AND NOT dead AND paused_at IS NULL;

UPDATE OR FAIL pawl_tally
SET dead = EXISTS (SELECT 1 FROM pawl_topic t
                   WHERE t.dead
                     AND t.name IN ('', (SELECT topic FROM pawl_lane WHERE id = pawl_tally.lane_id)));
