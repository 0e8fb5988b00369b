-- sql/sqlite/enqueue.sql - store messages.

-- part: lanes
-- Add the lanes that are missing for these messages.
INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT topic, priority, coalesce(destination, '') FROM pawli_rows(:rows) WHERE other_lane;

-- part: lane_of_body
(SELECT l.id FROM pawl_lane l INDEXED BY pawl_lane_name
 WHERE l.topic = b.topic AND l.priority = b.priority AND l.destination = coalesce(b.destination, ''))

-- part: lane_of_row
       -- The messages are mostly of one lane; the expressions that do not depend on the row are evaluated once.
       CASE (SELECT count(*) FROM pawli_rows(:rows) WHERE other_lane)
           WHEN 1 THEN (SELECT l.id FROM pawli_rows(:rows) f CROSS JOIN pawl_lane l INDEXED BY pawl_lane_name
                        ON l.topic = f.topic AND l.priority = f.priority
                           AND l.destination = coalesce(f.destination, '') LIMIT 1)
           ELSE
           -- @include lane_of_body
           END,

-- part: insert_bodies
@insert@ INTO pawl_body (message_id, topic, priority, type, created_at, due_at, expires_at, max_attempts,
                         count_all, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat, destination,
                         headers, correlation_id, payload, ordering_key, unique_key, tags)
SELECT message_id, topic, priority, type, :now, coalesce(due_at, :now + delay, :now),
       coalesce(expires_at, max(coalesce(due_at, :now + delay, :now), :now) + ttl),
       max_attempts, count_all, lease, retry_base, retry_max, retry_jitter, timeout, heartbeat, destination, headers,
       correlation_id, payload, ordering_key, unique_key, tags
FROM pawli_rows(:rows) r

-- part: new_bodies
-- One INSERT assigns consecutive ids, and the queue row has the body's id, so the last id implies all others.
FROM pawl_body b
WHERE id > last_insert_rowid() - (SELECT count(*) FROM pawli_rows(:rows));

SELECT NULL, last_insert_rowid() - (SELECT count(*) FROM pawli_rows(:rows)) + 1, @ENQUEUE_STORED@, :now;

-- name: enqueue
-- Store messages that may already exist. Returns position, work id, 0 stored | 1 existed | 2 conflict, and the
-- due time: first for the existing messages, then for all. The first row of a message counts.
SELECT r.position, b.id,
       CASE WHEN b.topic = r.topic AND b.payload = r.payload
            THEN @ENQUEUE_EXISTED@ ELSE @ENQUEUE_CONFLICT@ END,
       b.due_at
FROM pawli_rows(:rows) r
CROSS JOIN pawl_body b INDEXED BY pawl_body_message ON b.message_id = r.message_id;

-- Add the lanes that are missing; existing messages add none. Usually no lane is missing, and this does not
-- read the messages.
INSERT OR IGNORE INTO pawl_lane (topic, priority, destination)
SELECT topic, priority, coalesce(destination, '')
FROM pawli_rows(:rows) r
WHERE EXISTS (SELECT 1 FROM pawli_rows(:rows) f
              WHERE f.other_lane
                AND NOT EXISTS (SELECT 1 FROM pawl_lane l INDEXED BY pawl_lane_name
                                WHERE l.topic = f.topic AND l.priority = f.priority
                                  AND l.destination = coalesce(f.destination, '')))
  AND NOT EXISTS (SELECT 1 FROM pawl_body b INDEXED BY pawl_body_message WHERE b.message_id = r.message_id);

-- @include insert_bodies insert=INSERT
WHERE true
ON CONFLICT (message_id) DO NOTHING;

-- An existing message keeps its queue row (ignored here) or its outcome.
INSERT OR IGNORE INTO pawl_queue (id, lane_id, run_at, expires_at, lease)
SELECT b.id,
       -- @include lane_of_body
       ,
       CASE WHEN b.due_at > :now THEN b.due_at ELSE :now END, b.expires_at, b.lease
FROM pawli_rows(:rows) r
CROSS JOIN pawl_body b INDEXED BY pawl_body_message ON b.message_id = r.message_id
WHERE NOT EXISTS (SELECT 1 FROM pawl_outcome WHERE id = b.id);

SELECT r.position, b.id, @ENQUEUE_STORED@, b.due_at
FROM pawli_rows(:rows) r
CROSS JOIN pawl_body b INDEXED BY pawl_body_message ON b.message_id = r.message_id;

-- name: enqueue_fresh
-- Store messages whose ids were just generated and cannot exist. Returns one row for all: NULL, the first work
-- id, 0, the clock. The ids are in the order of the rows.
-- @include lanes
-- @include insert_bodies insert='INSERT OR FAIL'
;

INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at, expires_at, lease)
SELECT id,
-- @include lane_of_row
       CASE WHEN due_at > :now THEN due_at ELSE :now END, expires_at, lease
-- @include new_bodies

-- name: enqueue_plain
-- Store new messages that have no options. As enqueue_fresh, with half the columns.
-- @include lanes
INSERT OR FAIL INTO pawl_body (message_id, topic, priority, type, created_at, due_at, max_attempts, payload)
SELECT message_id, topic, priority, type, :now, :now, max_attempts, payload
FROM pawli_rows(:rows) r;

INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at)
SELECT id,
-- @include lane_of_row
       :now
-- @include new_bodies
