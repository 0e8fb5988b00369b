-- Dead letters whose handler is to be called now.
SELECT * FROM pawl.dead_claim(owner => :owner, lease => :lease, max_rows => :limit, topics => :topics);
