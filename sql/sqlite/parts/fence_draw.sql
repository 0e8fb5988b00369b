-- The next fencing token. More conditions may follow; what comes next reads it with fence_drawn.
UPDATE pawl_meta SET fence = fence + 1, latest_time = :now WHERE id = 1
