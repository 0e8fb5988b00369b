-- What the scheduler has to look at. First (0) the clock and when the next job comes up; then (1) the
-- jobs that are due, of whose runs there is news, or that were planned by a clock that was ahead; then (2) those news. Columns of src/core/job_tick.c.
SELECT 0, NULL, NULL, NULL, :now,
       (SELECT look_at FROM pawl_job INDEXED BY pawl_job_look
        WHERE look_at > :now AND look_at < 9223372036854775807 ORDER BY look_at LIMIT 1);

SELECT 1, j.id, j.version, j.awaited_run, j.anchor, j.since, j.schedule, j.zone, j.enabled, j.misfire,
       j.misfire_cap, j.misfire_grace, j.overlap, j.jitter, j.next_slot_at, j.last_slot_at,
       EXISTS (SELECT 1 FROM pawl_job_run o INDEXED BY pawl_job_run_waiting
               WHERE o.job_id = j.id AND o.state = 6),
       r.id IS NOT NULL, coalesce(r.started_at, r.ended_at), j.planned_at
FROM (SELECT * FROM (SELECT id FROM pawl_job INDEXED BY pawl_job_look
                     WHERE look_at <= :now ORDER BY look_at LIMIT :limit)
      UNION
      SELECT * FROM (SELECT job_id FROM pawl_job_run INDEXED BY pawl_job_run_news
                     WHERE news > 0 ORDER BY id LIMIT :limit)
      UNION
      SELECT * FROM (SELECT id FROM pawl_job INDEXED BY pawl_job_planned
                     WHERE planned_at > :now + 300000000 ORDER BY planned_at DESC LIMIT :limit)) due
CROSS JOIN pawl_job j ON j.id = due.id
LEFT JOIN pawl_job_run r ON r.id = j.awaited_run;

SELECT 2, job_id, news, id FROM pawl_job_run INDEXED BY pawl_job_run_news
WHERE news > 0 ORDER BY id LIMIT :limit;
