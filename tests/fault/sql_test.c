/* tests/fault/sql_test.c - the database's library fails, at every call of it. */
#include "fault_run.h"

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

#if PAWL_TEST_SQLITE
PAWL_TEST_ON(sqlite, a_life_survives_every_failing_sqlite_call)
{
    fault_run_all(&fault_queue, FAILING_SQL, SQLITE_IOERR, "SQLite answers an I/O error",
                  (fault_points){0, test_stride(11)});
    fault_run_all(&fault_queue, FAILING_SQL, SQLITE_FULL, "SQLite answers that the disk is full",
                  (fault_points){0, test_stride(23)});
}

PAWL_TEST_ON(sqlite, making_the_schema_survives_every_failing_sqlite_call)
{
    fault_deploy_all(FAILING_SQL, SQLITE_IOERR, "SQLite answers an I/O error",
                     (fault_points){0, test_stride(7)});
}
#endif

#if PAWL_TEST_POSTGRES
PAWL_TEST_ON(postgres, a_life_survives_every_failing_libpq_call)
{
    fault_run_all(&fault_queue, FAILING_SQL, FAILING_REFUSES, "libpq answers a failure",
                  (fault_points){0, test_stride(17)});
}

PAWL_TEST_ON(postgres, a_life_survives_a_connection_cut_at_every_libpq_call)
{
    fault_run_all(&fault_queue, FAILING_SQL, FAILING_CUTS, "the connection is cut",
                  (fault_points){0, test_stride(29)});
}

PAWL_TEST_ON(postgres, making_the_schema_survives_a_connection_cut_at_every_libpq_call)
{
    /* Most calls read the answers to the many statements of one script; a few of them will do. */
    fault_deploy_all(FAILING_SQL, FAILING_REFUSES, "libpq answers a failure",
                     (fault_points){test_choose(6, 12), test_choose(47, 11)});
    fault_deploy_all(FAILING_SQL, FAILING_CUTS, "the connection is cut",
                     (fault_points){test_choose(6, 12), test_choose(47, 11)});
}
#endif
