/* tests/sequences/sequences_test.c - random sequences of operations do what the model says. */
#include <inttypes.h>
#include <stdio.h>

#include "queue_fixture.h"
#include "sequence_campaign.h"
#include "test.h"

#define ENOUGH 100 /* sequences after which everything must have happened */

static void check_coverage(const sequence_campaign *c)
{
    const coverage *seen = &c->p.covered;

    printf("# %" PRIu64 " claims took something, %" PRIu64 " answers came too late, %" PRIu64
           " sends were known, %" PRIu64 " in conflict, %" PRIu64 " transactions committed\n",
           seen->effective[STEP_CLAIM] + seen->effective[STEP_ACK_AND_CLAIM], seen->stale,
           seen->repeated, seen->conflicts, seen->committed);
    printf("# %" PRIu64 " answers were lost, %" PRIu64
           " calls of the database's library failed, %" PRIu64 " operations were in doubt\n",
           seen->lost, seen->faults, seen->in_doubt);
    printf("# the totals of a topic were forgotten %" PRIu64 " times\n", seen->forgotten);
    if (c->base.played < ENOUGH)
        return;
    for (int i = 0; i < STEP_KINDS; i++)
        if (seen->effective[i] == 0)
            test_fail("no operation of kind %d had an effect: the sequences prove nothing of it",
                      i);
    assert_true(seen->stale > 0 && seen->repeated > 0 && seen->conflicts > 0);
    assert_true(seen->forgotten > 0);
    assert_true(seen->committed > 0 && seen->lost > 0 && seen->faults > 0 && seen->in_doubt > 0);
}

PAWL_TEST(random_sequences_agree_with_the_model)
{
    sequence_fixture *at = sequences_open();
    sequence_campaign *c = sequence_campaign_new(at);

    campaign_expect_nothing(&c->base);
    queue_check(at->f);
    printf("# %s: %" PRIu64 " sequences, %" PRIu64 " operations, from seed %" PRIu64
           " on; 0 differ from the model\n",
           at->postgres ? "PostgreSQL" : "SQLite", c->base.played, c->steps, c->base.first_seed);
    check_coverage(c);
}

/* Found by `make proof`: about what reads as expired, a clock offset that was not bound, and a lane
 * that a message that existed made. */
PAWL_TEST(sequences_that_once_found_a_fault_agree_with_the_model)
{
    static const uint64_t seeds[][2] = {{107, 1},  {288, 1},   {1342, 2},
                                        {2547, 1}, {12821, 1}, {12954, 1}};
    sequence_fixture *at = sequences_open();
    sequence_campaign *c = sequence_campaign_new(at);

    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        c->base.first_seed = seeds[i][0];
        c->base.count = seeds[i][1];
        campaign_expect_nothing(&c->base);
    }
    queue_check(at->f);
}
