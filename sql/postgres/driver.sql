-- sql/postgres/driver.sql - statements of PostgreSQL's driver, which other engines do not have.

-- name: claim_ack
-- As ack, before a claim in the same transaction. The clock is read before the transaction gets its id: that is
-- when the claim's scan begins.
SELECT a.changed,
       -- @include which
FROM (SELECT pawl.ack(owner => :owner, ids => :id, fences => :fence) AS changed
      FROM (SELECT pg_catalog.set_config('pawl_scan.began', extract(epoch FROM pawl.now())::text, true) AS began
            OFFSET 0) scan
      WHERE scan.began IS NOT NULL) a;

-- name: claim_notes
-- What the claim or reap before it in the transaction has left for the cursor.
SELECT n.item, n.number, n.at_us FROM pawl.claim_notes() n
WHERE pg_catalog.current_setting('pawl_scan.notes', true) OPERATOR(pg_catalog.<>) '';

-- name: idle
-- Register an idle worker, or with present = false only send its notification to itself.
SELECT * FROM pawl.idle(idle_worker => :idle_worker, present => :present);

-- name: busy
-- Remove an idle worker.
SELECT * FROM pawl.busy(idle_worker => :idle_worker);

-- name: snapshot_passed
-- Whether all transactions from before the epoch have ended. NULL starts a new epoch.
SELECT * FROM pawl.snapshot_passed(epoch => :epoch);
