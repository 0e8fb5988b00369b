/* tests/leases/leases_test.c - random histories of leases are what the model says. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "play.h"
#include "test.h"

#define DEEDS 100
#define REDUCED 20
#define WHOLE_SQLITE 2000
#define WHOLE_POSTGRES 500

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* What never happened was not tried. */
static void check_coverage(const coverage *c)
{
    for (int i = 0; i < DEED_COUNT; i++)
        if (c->done[i] == 0)
            test_fail("deed %d was never done: the histories prove nothing of it", i);
    assert_true(c->taken > 0 && c->extended > 0 && c->held > 0 && c->lost > 0);
    assert_true(c->passed > 0 && c->stale > 0);
    printf("# %" PRIu64 " takes, %" PRIu64 " extensions, %" PRIu64
           " refused; the guard passed %" PRIu64 " and refused %" PRIu64 "\n",
           c->taken, c->extended, c->held, c->passed, c->stale);
}

PAWL_TEST(random_histories_are_what_the_model_says)
{
    play *p = calloc(1, sizeof *p);
    uint64_t seed = setting("PAWL_LEASES_SEED", 1);
    uint64_t count = setting("PAWL_LEASES_SEED", 0) ? 1 : REDUCED;

    assert_non_null(p);
    test_defer(free, p);
    play_init(p, fixture_open(NULL), NULL);
    if (setting("PAWL_TEST_WHOLE", 0))
        count = fixture_is_postgres(p->f) ? WHOLE_POSTGRES : WHOLE_SQLITE;
    for (uint64_t i = 0; i < count; i++)
        if (!play_history(p, seed + i, DEEDS))
            test_fail("PAWL_LEASES_SEED=%" PRIu64 ": %s\n%s", seed + i, p->wrong.text, p->log);
    printf("# %" PRIu64 " histories of %d deeds, 0 differ from the model\n", count, DEEDS);
    if (count > 1)
        check_coverage(&p->covered);
}
