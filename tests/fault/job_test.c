/* tests/fault/job_test.c - memory runs out, or the database's library fails, under jobs. */
#include "life.h"

#include <stdlib.h>

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

/* Before the first use of SQLite, which sets up its memory then. */
__attribute__((constructor)) static void prepare(void)
{
    failing_prepare();
}

PAWL_TEST(jobs_survive_every_failing_allocation)
{
    life_run_all(&life_job, FAILING_MEMORY, 0, "out of memory in pawl", 0, test_stride(7));
}

#if PAWL_TEST_SQLITE
PAWL_TEST_ON(sqlite, jobs_survive_every_failing_sqlite_call)
{
    life_run_all(&life_job, FAILING_SQL, SQLITE_IOERR, "SQLite answers an I/O error", 0,
                 test_stride(11));
    life_run_all(&life_job, FAILING_SQLITE_MEMORY, 0, "out of memory in SQLite", 0,
                 test_stride(5) * 131);
}
#endif

#if PAWL_TEST_POSTGRES
PAWL_TEST_ON(postgres, jobs_survive_every_failing_libpq_call_and_a_cut_connection)
{
    life_run_all(&life_job, FAILING_SQL, FAILING_REFUSES, "libpq answers a failure", 0,
                 test_stride(7));
    life_run_all(&life_job, FAILING_SQL, FAILING_CUTS, "the connection is cut", 0, test_stride(7));
}
#endif
