-- Done, with what the handlers left.
-- @include ack
SELECT changes();
-- @include claims_ended
