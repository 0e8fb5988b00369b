-- Every topic that has messages, or had some that the totals still know of, or of which something was said.
SELECT n.name, t.paused_at,
       EXISTS (SELECT 1 FROM pawl_topic d WHERE d.dead AND d.name IN ('', n.name))
FROM (SELECT topic AS name FROM pawl_lane UNION SELECT topic FROM pawl_total UNION SELECT name FROM pawl_topic WHERE name <> '') n
LEFT JOIN pawl_topic t ON t.name = n.name
ORDER BY n.name;
