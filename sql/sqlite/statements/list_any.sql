-- All messages, newest first.
-- Looks at :scan rows at most. Answers the message's columns, whether it matches (the last row
-- looked at is always answered, so that the next page can start there) and whether the scan ended
-- by its bound.
WITH seen AS MATERIALIZED (
    SELECT id FROM pawl_body
    WHERE id < :before
    ORDER BY id DESC LIMIT :scan),
-- @include list_end
