-- One lease by its name.
SELECT 1, :now, l.* FROM pawl_lease l WHERE l.name = :name;
