-- Done, with what the handlers left.
SELECT pawl.ack_output(owner => :owner, ids => :id, fences => :fence, outputs => :output);
