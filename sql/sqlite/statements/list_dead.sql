-- Failed, expired and cancelled messages, newest first; also what is past its time to live and has
-- not been moved by maintenance yet. Of that there is little where any worker runs; where it is more
-- than :scan, all that is unfinished is looked at in the order of ids.
-- Looks at :scan rows at most. Answers the message's columns, whether it matches (the last row
-- looked at is always answered, so that the next page can start there) and whether the scan ended
-- by its bound.
WITH ended AS MATERIALIZED (
    SELECT id FROM pawl_outcome INDEXED BY pawl_outcome_dead
    WHERE state >= 3 AND id < :before
    ORDER BY id DESC LIMIT :scan),
few AS MATERIALIZED (
    SELECT id FROM pawl_queue INDEXED BY pawl_queue_expiry
    WHERE fence = 0 AND expires_at <= :now LIMIT :scan),
late AS MATERIALIZED (
    SELECT id FROM few WHERE id < :before AND (SELECT count(*) FROM few) < :scan
    UNION ALL
    SELECT id FROM (SELECT id FROM pawl_queue WHERE id < :before
                    ORDER BY id DESC
                    LIMIT CASE WHEN (SELECT count(*) FROM few) = :scan THEN :scan ELSE 0 END)),
seen AS MATERIALIZED (
    SELECT id FROM (SELECT id FROM ended UNION ALL SELECT id FROM late)
    ORDER BY id DESC LIMIT :scan),
-- @include list_end
