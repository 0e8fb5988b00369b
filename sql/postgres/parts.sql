-- sql/postgres/parts.sql - what several functions share: their settings.
--
-- A queue is usually empty, and plpgsql keeps the plan of a statement: one made while the tables were empty
-- would read them from end to end, and go on doing so when a million rows have arrived, until the next ANALYZE.
-- So the planner is left no other way than the index. force_generic_plan: the plan never depends on the values,
-- and no call pays for planning. jit: a forbidden node has a huge nominal cost, which alone would start the
-- compiler.
--
-- index_plan             by an index
-- ordered_index_plan     by an index that brings the rows in order
-- nested_...             and joins only row by row: by an index of the inner table, too

-- part: index_plan
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off

-- part: ordered_index_plan
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off

-- part: nested_index_plan
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off

-- part: nested_ordered_index_plan
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
