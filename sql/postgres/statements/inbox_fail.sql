-- The attempt failed.
SELECT pawl.inbox_give_up(
    source => :source, id => :id, fence => :fence, error => :error, dead => :dead, keep => :keep);
