-- What an owner holds now.
SELECT * FROM pawl.held(owner => :owner);
