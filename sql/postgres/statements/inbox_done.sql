-- Done, once: under the fence of the attempt, or (no fence) whoever is at it.
SELECT pawl.inbox_finish(
    source => :source, id => :id, fence => :fence, response => :response, keep => :keep);
