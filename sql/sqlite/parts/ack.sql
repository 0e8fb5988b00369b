-- Done: the queue row goes, an outcome row comes. Afterwards changes() says how many.
-- @if-rows
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

-- @if-rows
INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries, processed_by, progress, output)
SELECT q.id, 2, :now, q.retries, (SELECT owner_name FROM pawl_claim WHERE fence = q.fence), q.progress,
       r.output
FROM pawli_rows(:rows) r CROSS JOIN pawl_queue q ON q.id = r.id
WHERE q.fence = r.fence AND q.owner = :owner AND q.fence <> 0;

-- @if-rows
INSERT INTO pawl_tally (lane_id, priority, held, done)
SELECT q.lane_id, 0, -count(*), count(*)
FROM pawli_rows(:rows) r CROSS JOIN pawl_queue q ON q.id = r.id
WHERE q.fence = r.fence AND q.owner = :owner AND q.fence <> 0
GROUP BY q.lane_id
ON CONFLICT (lane_id) DO UPDATE SET held = held + excluded.held, done = done + excluded.done;

-- @if-rows
DELETE FROM pawl_queue
WHERE id IN (SELECT q.id FROM pawli_rows(:rows) r CROSS JOIN pawl_queue q ON q.id = r.id
             WHERE q.fence = r.fence AND q.owner = :owner AND q.fence <> 0);
