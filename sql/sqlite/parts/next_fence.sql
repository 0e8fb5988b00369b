       -- The next fencing token. What this connection does not know may have been given out.
       (SELECT CASE WHEN pawli_first() THEN max(fence, fence_mark) ELSE fence END + 1
        FROM pawl_meta WHERE id = 1)
