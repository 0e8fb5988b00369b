/* tests/sequences/broken_test.c - deliberate faults must be found, or the tests prove nothing. */
#include <inttypes.h>
#include <stdio.h>

#include "sequence_campaign.h"
#include "test.h"

#define SEQUENCES 200
#define SHRINK_TRIES 20

#define WAS(column) "(SELECT s." column " FROM {saved} s WHERE s.id = {queue}.id)"
#define WAS_LEASED " WHERE id IN (SELECT s.id FROM {saved} s WHERE s.fence <> 0)"
#define WAS_THERE " WHERE id IN (SELECT s.id FROM {saved} s)"

static const broken broken_stores[] = {
    {.what = "ack does not check the fence", .kind = STEP_ACK, .ignore_fence = true},
    {.what = "abandon does not check the fence", .kind = STEP_ABANDON, .ignore_fence = true},
    {.what = "reap does not count the attempt",
     .kind = STEP_REAP,
     .after = "UPDATE {queue} SET retries = " WAS("retries") WAS_THERE},
    {.what = "abandon does not count the attempt",
     .kind = STEP_ABANDON,
     .after = "UPDATE {queue} SET retries = " WAS("retries") WAS_THERE},
    {.what = "defer counts an attempt",
     .kind = STEP_DEFER,
     .after = "UPDATE {queue} SET retries = retries + 1" WAS_LEASED " AND fence = 0"},
    {.what = "release counts an attempt",
     .kind = STEP_RELEASE,
     .after = "UPDATE {queue} SET retries = retries + 1" WAS_LEASED " AND fence = 0"},
    {.what = "claim ignores expires_at",
     .kind = STEP_CLAIM,
     .before = "UPDATE {queue} SET expires_at = NULL",
     .after = "UPDATE {queue} SET expires_at = " WAS("expires_at") WAS_THERE},
    {.what = "claim takes messages that have a destination",
     .kind = STEP_CLAIM,
     .before = "UPDATE {queue} SET lane_id = (SELECT l.id FROM {lane} l JOIN {lane} o"
               " ON l.topic = o.topic AND l.priority = o.priority"
               " WHERE o.id = {queue}.lane_id ORDER BY l.destination, l.id LIMIT 1)",
     .after = "UPDATE {queue} SET lane_id = " WAS("lane_id") WAS_THERE},
    {.what = "claim passes over the newest message",
     .kind = STEP_CLAIM,
     .before = "UPDATE {queue} SET run_at = {at:9000000000000000} "
               "WHERE id = (SELECT max(id) FROM {queue})",
     .after = "UPDATE {queue} SET run_at = " WAS("run_at") WAS_THERE},
    {.what = "renew does not renew",
     .kind = STEP_RENEW,
     .after = "UPDATE {queue} SET lease_until = " WAS("lease_until") WAS_THERE},
    {.what = "redrive goes on counting where it was",
     .kind = STEP_REDRIVE,
     .after = "UPDATE {queue} SET retries = 1 WHERE id NOT IN (SELECT s.id FROM {saved} s)"},
    {.what = "expire forgets one outcome",
     .kind = STEP_EXPIRE,
     .after = "DELETE FROM {outcome} WHERE state = 4 AND id IN (SELECT s.id FROM {saved} s)"},
    {.what = "fail leaves the message in the queue",
     .kind = STEP_FAIL,
     .after = "INSERT INTO {queue} (id, lane_id, run_at) SELECT s.id, s.lane_id, s.run_at "
              "FROM {saved} s WHERE s.id NOT IN (SELECT q.id FROM {queue} q)"},
    {.what = "a lost answer is taken for one to a call that was not made",
     .kind = STEP_KINDS,
     .forget_if_lost = true},
};

PAWL_TEST(every_broken_store_is_found)
{
    sequence_fixture *at = sequences_open();
    sequence_campaign *c = sequence_campaign_new(at);

    for (size_t i = 0; i < sizeof broken_stores / sizeof broken_stores[0]; i++) {
        sequences_break(at, &broken_stores[i]);
        c->base.count = SEQUENCES; /* also under a sanitizer */
        c->shrink_tries = SHRINK_TRIES;
        campaign_expect_finding(&c->base, broken_stores[i].what);
    }
}
