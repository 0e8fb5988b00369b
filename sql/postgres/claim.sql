-- sql/postgres/claim.sql - taking messages under a lease.

-- name: claim
-- Finish what was done of an earlier claim, then take what is ready and due, from the cursor's
-- positions on.
SELECT * FROM pawl.claim_batch(
    owner => :owner, lease => :lease, max_rows => :limit, topics => :topics,
    owner_name => :owner_name, after_lane => :after_lane, done_ids => :id, done_fences => :fence,
    cursor_first => :cursor_first, cursor_since => :cursor_since, notes => :notes);

-- name: claim_remote
-- As claim, of the messages for the destinations.
SELECT * FROM pawl.claim_batch(
    owner => :owner, lease => :lease, max_rows => :limit, topics => NULL,
    owner_name => :owner_name, after_lane => NULL, done_ids => :id, done_fences => :fence,
    cursor_first => :cursor_first, cursor_since => :cursor_since, notes => :notes,
    destinations => :destinations, limits => :limits);

-- name: owned
-- What an owner holds now.
SELECT * FROM pawl.owned(owner => :owner);
