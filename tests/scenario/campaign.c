/* tests/scenario/campaign.c - one random history per seed, until something is found. */
#include "campaign.h"

#include <inttypes.h>
#include <stdio.h>

#include "test.h"

void campaign_init(campaign *c, const char *name, long reduced, long whole)
{
    const char *seed_variable = test_note("%s_SEED", name);
    uint64_t seed = test_setting(seed_variable, 0);
    uint64_t usual = (uint64_t)test_choose(reduced, whole);

    *c = (campaign){
        .seed_variable = seed_variable, .first_seed = seed ? seed : 1, .seed_chosen = seed != 0};
    c->count = test_setting(test_note("%s_COUNT", name), seed ? 1 : usual);
}

bool campaign_run(campaign *c)
{
    c->wrong.found = false;
    c->played = 0;
    while (c->played < c->count) {
        uint64_t seed = c->first_seed + c->played++;

        if (!c->play(c->context, seed, &c->wrong)) {
            c->failed_seed = seed;
            return false;
        }
    }
    return true;
}

void campaign_expect_nothing(campaign *c)
{
    if (campaign_run(c))
        return;
    if (c->report)
        c->report(c->context);
    test_fail("%s=%" PRIu64 ": %s", c->seed_variable, c->failed_seed, c->wrong.text);
}

void campaign_expect_finding(campaign *c, const char *what)
{
    if (campaign_run(c))
        test_fail("%s, and nothing was found in %" PRIu64 " histories", what, c->played);
    printf("# %s: found in history %" PRIu64 ": %s\n", what, c->played, c->wrong.text);
}
