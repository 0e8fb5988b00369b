DROP TRIGGER IF EXISTS pawl_lane_stats_new;
CREATE TRIGGER pawl_lane_stats_new AFTER INSERT ON pawl_lane
BEGIN
    INSERT INTO pawl_lane_stats (lane_id, priority, destination, paused, dead)
    VALUES (new.id, new.priority, new.destination,
            EXISTS (SELECT 1 FROM pawl_topic WHERE name = new.topic AND paused_at IS NOT NULL),
            EXISTS (SELECT 1 FROM pawl_topic WHERE name IN ('', new.topic) AND dead));
END;
