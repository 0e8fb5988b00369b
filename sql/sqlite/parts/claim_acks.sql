-- What was done of an earlier claim, in the same commit as the next. Answered as a note: no message,
-- then item 5 and how many.
-- @include ack
-- @if-rows
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, 5, changes(), NULL;
-- @include claims_ended
