-- What an owner holds now.
SELECT m.*
FROM pawl_held h
CROSS JOIN pawl_message m ON m.id = h.id
WHERE h.fence IN (SELECT fence FROM pawl_claim WHERE owner = :owner)
ORDER BY h.fence, h.place;
