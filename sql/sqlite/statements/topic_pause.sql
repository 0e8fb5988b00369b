-- Nothing of the topic is claimed from now on; also not of lanes that it gets later.
INSERT INTO pawl_topic (name, paused_at) VALUES (:topic, :now)
ON CONFLICT (name) DO UPDATE SET paused_at = excluded.paused_at WHERE paused_at IS NULL;

SELECT changes();

UPDATE OR FAIL pawl_tally SET paused = 1
WHERE lane_id IN (SELECT id FROM pawl_lane INDEXED BY pawl_lane_name WHERE topic = :topic);
