/* tests/fault/memory_test.c - memory runs out, at every place where it can. */
#include "fault_run.h"

/* Before the first use of SQLite, which sets up its memory then. */
__attribute__((constructor)) static void prepare(void)
{
    failing_prepare();
}

PAWL_TEST(a_life_survives_every_failing_allocation)
{
    fault_run_all(&fault_queue, FAILING_MEMORY, 0, "out of memory in pawl",
                  (fault_points){0, test_stride(11)});
}

PAWL_TEST(making_the_schema_survives_every_failing_allocation)
{
    fault_deploy_all(FAILING_MEMORY, 0, "out of memory in pawl",
                     (fault_points){0, test_stride(11)});
}

/* SQLite allocates thousands of times in one life, most of them while it reads the schema: every
 * place is not worth the minutes, a prime stride meets each kind of place in the end. */
PAWL_TEST_ON(sqlite, a_life_survives_failing_allocations_inside_sqlite)
{
    fault_run_all(&fault_queue, FAILING_SQLITE_MEMORY, 0, "out of memory in SQLite",
                  (fault_points){test_choose(20, 50), test_choose(307, 53)});
}

PAWL_TEST_ON(sqlite, making_the_schema_survives_failing_allocations_inside_sqlite)
{
    fault_deploy_all(FAILING_SQLITE_MEMORY, 0, "out of memory in SQLite",
                     (fault_points){test_choose(10, 20), test_choose(211, 97)});
}
