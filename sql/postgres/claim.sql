-- sql/postgres/claim.sql - claim messages under a lease.

-- name: claim
-- Claim messages that are ready and due, starting at the cursor's positions.
SELECT * FROM pawl.claim_batch(
    owner => :owner, lease => :lease, max_rows => :limit, topics => :topics,
    owner_name => :owner_name, after_lane => :after_lane,
    cursor_first => :cursor_first, cursor_since => :cursor_since, notes => :notes);

-- name: claim_remote
-- Claim messages for the given destinations.
SELECT * FROM pawl.claim_batch(
    owner => :owner, lease => :lease, max_rows => :limit, topics => NULL,
    owner_name => :owner_name, after_lane => NULL,
    cursor_first => :cursor_first, cursor_since => :cursor_since, notes => :notes,
    destinations => :destinations, limits => :limits);

-- name: owned
-- The messages that an owner holds now.
SELECT * FROM pawl.owned(owner => :owner);
