-- What an owner holds now.
SELECT m.*
FROM pawl_claim c INDEXED BY pawl_claim_owner
CROSS JOIN json_each(c.ids) j
CROSS JOIN pawl_message m ON m.id = j.value AND m.fence = c.fence
WHERE c.owner = :owner
ORDER BY c.fence, j.key;
