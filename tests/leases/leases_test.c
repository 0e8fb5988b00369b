/* tests/leases/leases_test.c - random histories of leases are what the model says. */
#include <inttypes.h>
#include <stdio.h>

#include "campaign.h"
#include "lease_history.h"
#include "test.h"

#define REDUCED 20
#define WHOLE_SQLITE 2000
#define WHOLE_POSTGRES 500

/* Each kind of event must have occurred. */
static void check_coverage(const coverage *c)
{
    for (int i = 0; i < DEED_COUNT; i++)
        if (c->done[i] == 0)
            test_fail("deed %d was never done: the histories prove nothing of it", i);
    assert_true(c->taken > 0 && c->extended > 0 && c->leased > 0 && c->lost > 0);
    assert_true(c->passed > 0 && c->stale > 0);
    printf("# %" PRIu64 " takes, %" PRIu64 " extensions, %" PRIu64
           " refused; the guard passed %" PRIu64 " and refused %" PRIu64 "\n",
           c->taken, c->extended, c->leased, c->passed, c->stale);
}

PAWL_TEST(random_histories_agree_with_the_model)
{
    static lease_history p;
    campaign c;

    lease_history_init(&p, fixture_open(NULL), NULL);
    campaign_init(&c, "PAWL_LEASES", REDUCED,
                  fixture_is_postgres(p.f) ? WHOLE_POSTGRES : WHOLE_SQLITE);
    c.play = lease_history_run;
    c.report = lease_history_report;
    c.context = &p;
    campaign_expect_nothing(&c);
    printf("# %" PRIu64 " histories of %d deeds, 0 differ from the model\n", c.played, LEASE_DEEDS);
    if (c.played > 1)
        check_coverage(&p.covered);
}
