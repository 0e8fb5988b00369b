-- Finish what was done of an earlier claim, then take what is ready and due, from the cursor's
-- positions on.
SELECT * FROM pawl.claim_batch(
    owner => :owner, lease => :lease, max_rows => :limit, topics => :topics,
    owner_name => :owner_name, turn => :turn, done_ids => :id, done_fences => :fence,
    cursor_lanes => :cursor_lane, cursor_since => :cursor_since);
