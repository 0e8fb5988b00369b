/* tests/sequences/broken_test.c - what is broken on purpose must be found, or it proves nothing. */
#include <inttypes.h>
#include <stdio.h>

#include "campaign.h"
#include "test.h"

#define SEQUENCES 200
#define SHRINK_TRIES 20

PAWL_TEST(every_broken_store_is_found)
{
    place *at = place_open();

    for (size_t i = 0; i < broken_count; i++) {
        campaign c;

        place_break(at, &broken_stores[i]);
        campaign_init(&c, at);
        c.sequences = SEQUENCES; /* also under a sanitizer */
        c.shrink_tries = SHRINK_TRIES;
        campaign_run(&c);
        if (!c.failed)
            test_fail("%s, and nothing was found in %" PRIu64 " sequences", broken_stores[i].what,
                      c.played);
        printf("# %s: found in sequence %" PRIu64 ", shortened to %zu operations: %s\n",
               broken_stores[i].what, c.played, c.failed_steps, c.first);
    }
}
