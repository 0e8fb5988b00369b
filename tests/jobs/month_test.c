/* tests/jobs/month_test.c - a month with three schedulers: every occurrence is one run or one skip.
 */
#include <inttypes.h>
#include <stdio.h>

#include "campaign.h"
#include "queue_fixture.h"
#include "simulation.h"
#include "test.h"

#define REDUCED 1
#define WHOLE_SQLITE 300
#define WHOLE_POSTGRES 100
#define MEAN_STEP_MS (60 * MINUTE_MS)
#define REDUCED_STEP_SQLITE_MS (3 * HOUR_MS)
#define REDUCED_STEP_POSTGRES_MS (6 * HOUR_MS)

/* What never happened was not tried. */
static void check_coverage(const coverage *c, bool clock_goes_back)
{
    assert_true(c->paused > 0 && c->overtaken > 0 && c->failed > 0 && c->killed > 0);
    assert_true(c->misfires > 0 && c->overlaps > 0 && c->waited > 0 && c->promoted > 0);
    assert_true(c->triggered > 0 && c->busy > 0 && c->switches > 0 && c->deletes > 0);
    assert_true(c->retried > 0 && c->reaped > 0 && c->cleaned > 0 && c->clock_back > 0);
    assert_int_equal(clock_goes_back, c->rewound > 0);
}

PAWL_TEST(a_month_with_three_schedulers_has_every_occurrence_once)
{
    bool postgres = test_on_postgres();
    long step_ms =
        test_choose(postgres ? REDUCED_STEP_POSTGRES_MS : REDUCED_STEP_SQLITE_MS, MEAN_STEP_MS);
    simulated_months *months = simulation_months_new(step_ms, NULL);
    const coverage *c = &months->p.covered;
    campaign all;

    campaign_init(&all, "PAWL_JOBS", REDUCED, postgres ? WHOLE_POSTGRES : WHOLE_SQLITE);
    all.play = simulate_month;
    all.context = months;
    campaign_expect_nothing(&all);
    printf("# %" PRIu64 " months: %" PRId64 " looks (%" PRId64 " paused, %" PRId64
           " failed, %" PRId64 " in doubt), %" PRId64 " schedulers killed; %" PRId64
           " runs, %" PRId64 " occurrences skipped, 0 occurrences missing, 0 twice\n",
           all.played, c->ticks, c->paused, c->failed, c->in_doubt, c->killed, c->runs,
           c->occurrences_skipped);
    printf("# %" PRId64 " overlaps, %" PRId64 " misfires, %" PRId64 " waited in line, %" PRId64
           " triggered, %" PRId64 " changed, %" PRId64 " deleted; the clock went back %" PRId64
           " times, %" PRId64 " jobs with it\n",
           c->overlaps, c->misfires, c->waited, c->triggered, c->puts + c->switches, c->deletes,
           c->clock_back, c->rewound);
    if (!all.seed_chosen)
        check_coverage(c, postgres); /* SQLite never shows less than it has written */
}
