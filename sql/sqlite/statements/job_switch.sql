-- Enable or disable a job: enabled again, its slots are computed from now on. Answers whether there is
-- such a job, and whether that was a change.
UPDATE pawl_meta SET latest_time = :now WHERE id = 1;

SELECT 1, enabled <> :enabled FROM pawl_job WHERE name = :name;

UPDATE OR FAIL pawl_job
SET enabled = :enabled, since = :now, next_slot_at = NULL, next_due_at = NULL, awaited_run = NULL,
    look_at = 0, updated_at = :now, version = version + 1, problem = NULL
WHERE name = :name AND enabled <> :enabled;
