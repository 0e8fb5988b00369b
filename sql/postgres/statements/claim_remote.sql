-- As claim.sql, of the messages for the destinations.
SELECT * FROM pawl.claim_batch(
    owner => :owner, lease => :lease, max_rows => :limit, topics => NULL,
    owner_name => :owner_name, after_lane => NULL, done_ids => :id, done_fences => :fence,
    cursor_first => :cursor_first, cursor_since => :cursor_since, notes => :notes,
    destinations => :destinations, limits => :limits);
