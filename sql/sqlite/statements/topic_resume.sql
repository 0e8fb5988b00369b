-- Claims look at the topic again.
-- @stop-unless-changed
UPDATE OR FAIL pawl_topic SET paused_at = NULL WHERE name = :topic AND paused_at IS NOT NULL;

SELECT 1;

UPDATE OR FAIL pawl_tally SET paused = 0
WHERE lane_id IN (SELECT id FROM pawl_lane INDEXED BY pawl_lane_name WHERE topic = :topic);

DELETE FROM pawl_topic WHERE name = :topic AND NOT dead;
