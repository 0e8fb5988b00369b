-- The clock of every statement: never less than a time that was already written. The library adds the boot
-- clock's part from the other columns (src/db/sqlite/clock_sqlite.c).
DROP VIEW IF EXISTS pawl_clock;
CREATE VIEW pawl_clock AS
    SELECT max(w.now, t.latest_time,
               coalesce((SELECT created_at FROM pawl_body WHERE id = (SELECT max(id) FROM pawl_body)), 0)) AS now,
           w.now AS wall, k.now AS boot, k.id AS boot_id, t.boot_id AS known_boot_id, t.boot_offset,
           t.clock_resets
    FROM pawl_meta t CROSS JOIN pawl_wall w CROSS JOIN pawl_boot k
    WHERE t.id = 1;
