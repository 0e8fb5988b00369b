/* tests/leases/broken_test.c - deliberate faults must be found, or the tests prove nothing. */
#include "campaign.h"
#include "lease_history.h"
#include "test.h"

#define HISTORIES 200

#define WAS(column) "(SELECT s." column " FROM {saved} s WHERE s.name = {lease}.name)"
#define WAS_THERE " WHERE name IN (SELECT s.name FROM {saved} s)"
#define FOREVER "{at:9000000000000000}"

static const broken broken_stores[] = {
    {.what = "acquire does not check whether it has an owner",
     .kind = DEED_ACQUIRE,
     .before = "UPDATE {lease} SET released_at = taken_at"},
    {.what = "acquire grants an expired lease to no owner",
     .kind = DEED_ACQUIRE,
     .before = "UPDATE {lease} SET expires_at = " FOREVER " WHERE released_at IS NULL",
     .after = "UPDATE {lease} SET expires_at = " WAS("expires_at") WAS_THERE},
    {.what = "an extension shortens",
     .kind = DEED_RENEW,
     .before = "UPDATE {lease} SET expires_at = renewed_at + "
               "(expires_at - renewed_at) / 2 WHERE released_at IS NULL"},
    {.what = "renew does not check the token", .kind = DEED_RENEW, .ignore_fence = true},
    {.what = "renew revives what ran out",
     .kind = DEED_RENEW,
     .before = "UPDATE {lease} SET expires_at = " FOREVER " WHERE released_at IS NULL"},
    {.what = "renew does not renew",
     .kind = DEED_RENEW,
     .after = "UPDATE {lease} SET expires_at = " WAS("expires_at") WAS_THERE},
    {.what = "release does not check the token", .kind = DEED_RELEASE, .ignore_fence = true},
    {.what = "release keeps it",
     .kind = DEED_RELEASE,
     .after = "UPDATE {lease} SET released_at = " WAS("released_at") ", expires_at = " WAS(
         "expires_at") WAS_THERE},
    {.what = "force-release records nothing",
     .kind = DEED_FORCE,
     .after = "UPDATE {lease} SET forced_fence = NULL, forced_at = NULL"},
    {.what = "the guard does not check the token", .kind = DEED_GUARD, .ignore_fence = true},
    {.what = "the guard does not check the clock",
     .kind = DEED_GUARD,
     .before = "UPDATE {lease} SET expires_at = " FOREVER " WHERE released_at IS NULL",
     .after = "UPDATE {lease} SET expires_at = " WAS("expires_at") WAS_THERE},
    {.what = "the guard does not check whether it was released",
     .kind = DEED_GUARD,
     .before = "UPDATE {lease} SET released_at = NULL, expires_at = " FOREVER
               " WHERE released_at IS NOT NULL",
     .after = "UPDATE {lease} SET released_at = " WAS("released_at") ", expires_at = " WAS(
         "expires_at") WAS_THERE},
    {.what = "clean deletes owned leases", .kind = DEED_CLEAN, .before = "DELETE FROM {lease}"},
};

/* The counter is the engine's. */
static const broken broken_counters[] = {
    {.what = "tokens go back",
     .kind = DEED_ACQUIRE,
     .before = "UPDATE {meta} SET fence = CASE WHEN fence > 2 THEN fence - 2 ELSE fence END,"
               " fence_mark = 0"},
    {.what = "tokens go back",
     .kind = DEED_ACQUIRE,
     .before = "SELECT setval('{fence}', greatest(1, (SELECT last_value FROM {fence}) - 2))"},
};

static void must_be_found(fixture *f, const broken *how)
{
    static lease_history p;
    campaign c = {.play = lease_history_run, .context = &p, .first_seed = 1, .count = HISTORIES};

    lease_history_init(&p, f, how);
    campaign_expect_finding(&c, how->what);
}

PAWL_TEST(every_broken_store_is_found)
{
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < sizeof broken_stores / sizeof broken_stores[0]; i++)
        must_be_found(f, &broken_stores[i]);
    must_be_found(f, &broken_counters[fixture_is_postgres(f)]);
}
