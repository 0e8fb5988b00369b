-- One message by its work id.
SELECT * FROM pawl.get(id => :id);
