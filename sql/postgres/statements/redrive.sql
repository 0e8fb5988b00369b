-- Dead letters become ready again.
SELECT pawl.redrive(ids => :id);
