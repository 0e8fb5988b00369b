-- Leases by name.
SELECT * FROM pawl.lease_list(after => :after, only_held => :only_held, max_rows => :limit);
