-- sql/sqlite/store.sql - the clock and the roles.

-- name: now
-- The database's clock.
SELECT :now;

-- name: clock_reset
-- Set the store's clock back to the wall clock, and every time that was written while it was ahead by the same
-- offset, so that a message that was due in a minute is still due in a minute. docs/internals/clock.md Returns
-- 0, the offset, the number of held leases; then 1 if the clock was set back.
SELECT 0, :now - (SELECT now FROM pawl_wall),
       (SELECT count(*) FROM pawl_owned WHERE lease_until > :now)
       + (SELECT count(*) FROM pawl_lease WHERE released_at IS NULL AND expires_at > :now)
       + (SELECT count(*) FROM pawl_inbox_record WHERE state = @INBOX_PROCESSING@ AND lease_until > :now);

-- From here on latest_time is the wall clock, and :now is the clock before the change.
-- @stop-unless-changed
UPDATE pawl_meta
SET latest_time = (SELECT now FROM pawl_wall), boot_id = '', clock_resets = clock_resets + 1
WHERE id = 1 AND NOT :dry_run AND :now - (SELECT now FROM pawl_wall) > 1000000
  AND (:force
       OR NOT EXISTS (SELECT 1 FROM pawl_owned WHERE lease_until > :now)
          AND NOT EXISTS (SELECT 1 FROM pawl_lease WHERE released_at IS NULL AND expires_at > :now)
          AND NOT EXISTS (SELECT 1 FROM pawl_inbox_record WHERE state = @INBOX_PROCESSING@ AND lease_until > :now));

-- Due times that were set before the clock was ahead are correct; those of retries are not.
UPDATE pawl_queue AS q
SET run_at = CASE WHEN q.run_at > m.latest_time AND (b.created_at > m.latest_time OR q.run_at <> b.due_at)
                  THEN q.run_at - (:now - m.latest_time) ELSE q.run_at END,
    expires_at = CASE WHEN q.expires_at > m.latest_time
                           AND (b.created_at > m.latest_time OR q.expires_at IS NOT b.expires_at)
                      THEN q.expires_at - (:now - m.latest_time) ELSE q.expires_at END,
    lease_until = CASE WHEN q.lease_until > m.latest_time
                       THEN q.lease_until - (:now - m.latest_time) ELSE q.lease_until END
FROM pawl_meta m CROSS JOIN pawl_body b
WHERE m.id = 1 AND b.id = q.id
  AND (q.run_at > m.latest_time OR q.lease_until > m.latest_time OR q.expires_at > m.latest_time);

UPDATE pawl_outcome AS o
SET finished_at = o.finished_at - (:now - m.latest_time),
    expires_at = CASE WHEN o.expires_at > m.latest_time AND b.created_at > m.latest_time
                      THEN o.expires_at - (:now - m.latest_time) ELSE o.expires_at END
FROM pawl_meta m CROSS JOIN pawl_body b
WHERE m.id = 1 AND b.id = o.id AND o.finished_at > m.latest_time;

UPDATE pawl_body
SET created_at = created_at - (:now - m.latest_time),
    due_at = CASE WHEN due_at > m.latest_time THEN due_at - (:now - m.latest_time) ELSE due_at END,
    expires_at = CASE WHEN expires_at > m.latest_time
                      THEN expires_at - (:now - m.latest_time) ELSE expires_at END
FROM pawl_meta m
WHERE m.id = 1 AND created_at > m.latest_time;

UPDATE pawl_claim SET check_at = check_at - (:now - m.latest_time)
FROM pawl_meta m WHERE m.id = 1 AND check_at > m.latest_time;

UPDATE pawl_dead SET run_at = run_at - (:now - m.latest_time)
FROM pawl_meta m WHERE m.id = 1 AND run_at > m.latest_time;

UPDATE pawl_lease
SET taken_at = CASE WHEN taken_at > m.latest_time THEN taken_at - (:now - m.latest_time) ELSE taken_at END,
    renewed_at = renewed_at - (:now - m.latest_time),
    expires_at = expires_at - (:now - m.latest_time),
    released_at = CASE WHEN released_at > m.latest_time
                       THEN released_at - (:now - m.latest_time) ELSE released_at END,
    forced_at = CASE WHEN forced_at > m.latest_time THEN forced_at - (:now - m.latest_time) ELSE forced_at END
FROM pawl_meta m WHERE m.id = 1 AND renewed_at > m.latest_time;

UPDATE pawl_inbox_record
SET first_seen = CASE WHEN first_seen > m.latest_time
                      THEN first_seen - (:now - m.latest_time) ELSE first_seen END,
    last_seen = last_seen - (:now - m.latest_time),
    processed_at = CASE WHEN processed_at > m.latest_time
                        THEN processed_at - (:now - m.latest_time) ELSE processed_at END,
    lease_until = CASE WHEN lease_until > m.latest_time
                       THEN lease_until - (:now - m.latest_time) ELSE lease_until END,
    expires_at = CASE WHEN expires_at > :now THEN expires_at - (:now - m.latest_time) ELSE expires_at END
FROM pawl_meta m WHERE m.id = 1 AND last_seen > m.latest_time;

UPDATE pawl_topic SET paused_at = paused_at - (:now - m.latest_time)
FROM pawl_meta m WHERE m.id = 1 AND paused_at > m.latest_time;

-- The scheduler plans again where planned_at is in the future.
UPDATE pawl_job
SET created_at = CASE WHEN created_at > m.latest_time
                      THEN created_at - (:now - m.latest_time) ELSE created_at END,
    updated_at = CASE WHEN updated_at > m.latest_time
                      THEN updated_at - (:now - m.latest_time) ELSE updated_at END
FROM pawl_meta m WHERE m.id = 1 AND updated_at > m.latest_time;

-- Occurrences keep their times, which identify them.
UPDATE pawl_job_run
SET created_at = CASE WHEN created_at > m.latest_time
                      THEN created_at - (:now - m.latest_time) ELSE created_at END,
    started_at = CASE WHEN started_at > m.latest_time
                      THEN started_at - (:now - m.latest_time) ELSE started_at END,
    claimed_at = CASE WHEN claimed_at > m.latest_time
                      THEN claimed_at - (:now - m.latest_time) ELSE claimed_at END,
    ended_at = CASE WHEN ended_at > m.latest_time THEN ended_at - (:now - m.latest_time) ELSE ended_at END
FROM pawl_meta m
WHERE m.id = 1 AND max(created_at, coalesce(claimed_at, 0), coalesce(ended_at, 0)) > m.latest_time;

SELECT 1, 0, 0;

-- name: grant_roles
-- SQLite has no roles: access to the file is access to everything.
SELECT NULL;
