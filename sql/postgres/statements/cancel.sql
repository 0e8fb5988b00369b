-- End messages that are ready or in progress.
SELECT pawl.cancel(ids => :id);
