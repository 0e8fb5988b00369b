/* tests/fault/schedule_test.c - memory runs out while a schedule is read. */
#include <string.h>

#include "failing.h"
#include "test.h"

PAWL_TEST(reading_a_schedule_survives_every_failing_allocation)
{
    static const char *const texts[] = {"*/7 3-9 1,15,LW JAN-MAR FRI#2,MON", "every 1h30m",
                                        "nonsense"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bool failed = true;
        for (long nth = 1; failed; nth++) {
            pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
            pawl_schedule *schedule = NULL;
            pawl_error err = PAWL_ERROR_INIT;
            opts.zone = "Europe/Berlin";
            failing_arm(FAILING_MEMORY, nth, 0);
            pawl_status st = pawl_schedule_parse(texts[i], &opts, &schedule, &err);
            failed = failing_disarm();
            if (failed)
                assert_status(PAWL_E_NOMEM, st, &err);
            else
                assert_status(strcmp(texts[i], "nonsense") == 0 ? PAWL_E_INVALID : PAWL_OK, st,
                              &err);
            assert_true((schedule != NULL) == (st == PAWL_OK));
            pawl_schedule_free(schedule);
        }
    }
}
