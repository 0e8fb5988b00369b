-- @include ack
SELECT changes();
-- @include claims_ended
