/* tests/fault/queue_test.c - memory runs out, or the database's library fails, under the queue. */
#include "fault_run.h"

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

/* Before the first use of SQLite, which sets up its memory then. */
__attribute__((constructor)) static void prepare_sqlite(void)
{
    failing_prepare();
}

PAWL_TEST(the_queue_survives_every_failing_allocation)
{
    fault_run_all(&fault_queue, FAILING_MEMORY, 0, "out of memory in pawl",
                  (fault_points){0, test_stride(11)});
}

PAWL_TEST(making_the_schema_survives_every_failing_allocation)
{
    fault_deploy_all(FAILING_MEMORY, 0, "out of memory in pawl",
                     (fault_points){0, test_stride(11)});
}

/* SQLite allocates thousands of times in one run, most of them while it reads the schema: every
 * place is not worth the minutes, a prime stride meets each kind of place in the end. */
PAWL_TEST_ON(sqlite, the_queue_survives_failing_allocations_inside_sqlite)
{
    fault_run_all(&fault_queue, FAILING_SQLITE_MEMORY, 0, "out of memory in SQLite",
                  (fault_points){test_choose(20, 50), test_choose(307, 53)});
}

PAWL_TEST_ON(sqlite, making_the_schema_survives_failing_allocations_inside_sqlite)
{
    fault_deploy_all(FAILING_SQLITE_MEMORY, 0, "out of memory in SQLite",
                     (fault_points){test_choose(10, 20), test_choose(211, 97)});
}

#if PAWL_TEST_SQLITE
PAWL_TEST_ON(sqlite, the_queue_survives_every_failing_sqlite_call)
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
PAWL_TEST_ON(postgres, the_queue_survives_every_failing_libpq_call)
{
    fault_run_all(&fault_queue, FAILING_SQL, FAILING_REFUSES, "libpq answers a failure",
                  (fault_points){0, test_stride(17)});
}

PAWL_TEST_ON(postgres, the_queue_survives_a_connection_cut_at_every_libpq_call)
{
    fault_run_all(&fault_queue, FAILING_SQL, FAILING_CUTS, "the connection is cut",
                  (fault_points){0, test_stride(29)});
}

PAWL_TEST_ON(postgres, making_the_schema_survives_a_connection_cut_at_every_libpq_call)
{
    /* Most calls read the results of the many statements of one script; a few of them suffice. */
    fault_deploy_all(FAILING_SQL, FAILING_REFUSES, "libpq answers a failure",
                     (fault_points){test_choose(6, 12), test_choose(47, 11)});
    fault_deploy_all(FAILING_SQL, FAILING_CUTS, "the connection is cut",
                     (fault_points){test_choose(6, 12), test_choose(47, 11)});
}
#endif
