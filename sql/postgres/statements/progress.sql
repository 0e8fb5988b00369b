-- How far it is, in the words of whoever holds it.
SELECT pawl.progress(owner => :owner, ids => :id, fences => :fence, words => :text);
