-- Take what is ready and due.
SELECT * FROM pawl.claim(owner => :owner, lease => :lease, max_rows => :limit, topics => :topics,
                         owner_name => :owner_name, turn => :turn);
