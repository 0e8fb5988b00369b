-- Still at it.
SELECT pawl.inbox_renew(source => :source, id => :id, fence => :fence, lease => :lease);
