-- Dead records get all their attempts again.
SELECT pawl.inbox_requeue(source => :source, id => :id, keep => :keep, max_rows => :limit);
