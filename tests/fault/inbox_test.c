/* tests/fault/inbox_test.c - memory runs out, or the database's library fails, while receiving. */
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

PAWL_TEST(receiving_survives_every_failing_allocation)
{
    life_run_all(&life_inbox, FAILING_MEMORY, 0, "out of memory in pawl", 0, test_stride(13));
}

#if PAWL_TEST_SQLITE
PAWL_TEST_ON(sqlite, receiving_survives_every_failing_sqlite_call)
{
    life_run_all(&life_inbox, FAILING_SQL, SQLITE_IOERR, "SQLite answers an I/O error", 0,
                 test_stride(13));
    life_run_all(&life_inbox, FAILING_SQLITE_MEMORY, 0, "out of memory in SQLite", 0,
                 test_stride(13) * 53);
}
#endif

#if PAWL_TEST_POSTGRES
PAWL_TEST_ON(postgres, receiving_survives_every_failing_libpq_call_and_a_cut_connection)
{
    life_run_all(&life_inbox, FAILING_SQL, FAILING_REFUSES, "libpq answers a failure", 0,
                 test_stride(29));
    life_run_all(&life_inbox, FAILING_SQL, FAILING_CUTS, "the connection is cut", 0,
                 test_stride(29));
}
#endif
