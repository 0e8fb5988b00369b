/* tests/jobs/month_test.c - a month with three schedulers: every slot is one run or one skip. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kit.h"
#include "play.h"
#include "test.h"

#define REDUCED 1
#define WHOLE_SQLITE 300
#define WHOLE_POSTGRES 100
#define MEAN_STEP_MS (60 * MINUTE_MS)
#define REDUCED_STEP_SQLITE_MS (3 * HOUR_MS)
#define REDUCED_STEP_POSTGRES_MS (6 * HOUR_MS)

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* What never happened was not tried. */
static void check_coverage(const coverage *c, bool clock_goes_back)
{
    assert_true(c->paused > 0 && c->overtaken > 0 && c->failed > 0 && c->killed > 0);
    assert_true(c->misfires > 0 && c->overlaps > 0 && c->waited > 0 && c->promoted > 0);
    assert_true(c->triggered > 0 && c->busy > 0 && c->switches > 0 && c->deletes > 0);
    assert_true(c->retried > 0 && c->reaped > 0 && c->cleaned > 0 && c->clock_back > 0);
    assert_int_equal(clock_goes_back, c->rewound > 0);
}

static void free_play(void *argument)
{
    play_done(argument);
    free(argument);
}

PAWL_TEST(a_month_with_three_schedulers_has_every_slot_once)
{
    play *p = calloc(1, sizeof *p);
    pawl_store_options store = PAWL_STORE_OPTIONS_INIT;
    fixture_options options = {.store = &store};
    uint64_t seed = setting("PAWL_JOBS_SEED", 1);
    uint64_t count = REDUCED;
    bool whole = setting("PAWL_TEST_WHOLE", 0) != 0, clock_goes_back = false;
    const coverage *c = &p->covered;

    if (setting("PAWL_JOBS_SEED", 0))
        count = 1;
    assert_non_null(p);
    test_defer(free_play, p);
    store.durability = PAWL_DURABILITY_NORMAL;
    for (uint64_t i = 0; i < count; i++) {
        fixture *f = fixture_open(&options);
        int64_t step_ms = whole                    ? MEAN_STEP_MS
                          : fixture_is_postgres(f) ? REDUCED_STEP_POSTGRES_MS
                                                   : REDUCED_STEP_SQLITE_MS;
        clock_goes_back = fixture_is_postgres(f); /* SQLite never shows less than it has written */
        if (whole && !setting("PAWL_JOBS_SEED", 0))
            count = fixture_is_postgres(f) ? WHOLE_POSTGRES : WHOLE_SQLITE;
        if (!play_month(p, f, seed + i, step_ms))
            test_fail("PAWL_JOBS_SEED=%" PRIu64 ": %s", seed + i, p->wrong.text);
        play_done(p);
        fixture_close(f);
    }
    printf("# %" PRIu64 " months: %" PRId64 " looks (%" PRId64 " paused, %" PRId64
           " failed, %" PRId64 " in doubt), %" PRId64 " schedulers killed; %" PRId64
           " runs, %" PRId64 " slots skipped, 0 slots missing, 0 twice\n",
           count, c->ticks, c->paused, c->failed, c->in_doubt, c->killed, c->runs,
           c->slots_skipped);
    printf("# %" PRId64 " overlaps, %" PRId64 " misfires, %" PRId64 " waited in line, %" PRId64
           " triggered, %" PRId64 " changed, %" PRId64 " deleted; the clock went back %" PRId64
           " times, %" PRId64 " jobs with it\n",
           c->overlaps, c->misfires, c->waited, c->triggered, c->puts + c->switches, c->deletes,
           c->clock_back, c->rewound);
    check_coverage(c, clock_goes_back);
}
