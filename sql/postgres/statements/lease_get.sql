-- One lease by its name.
SELECT * FROM pawl.lease_get(name => :name);
