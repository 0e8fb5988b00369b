-- Take a lease away from its holder.
SELECT * FROM pawl.lease_force(name => :name, by => :by, reason => :reason, fence => :fence);
