-- @include ack
SELECT changes();
