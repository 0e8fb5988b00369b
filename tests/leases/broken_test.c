/* tests/leases/broken_test.c - what is broken on purpose must be found, or it proves nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "play.h"
#include "test.h"

#define HISTORIES 200
#define DEEDS 100

#define WAS(column) "(SELECT s." column " FROM {saved} s WHERE s.name = {lease}.name)"
#define WAS_THERE " WHERE name IN (SELECT s.name FROM {saved} s)"
#define FOREVER "{at:9000000000000000}"

static const broken broken_stores[] = {
    {.what = "acquire does not look whether somebody holds it",
     .deed = DEED_ACQUIRE,
     .before = "UPDATE {lease} SET released_at = taken_at"},
    {.what = "acquire gives a lease that ran out to nobody",
     .deed = DEED_ACQUIRE,
     .before = "UPDATE {lease} SET expires_at = " FOREVER " WHERE released_at IS NULL",
     .after = "UPDATE {lease} SET expires_at = " WAS("expires_at") WAS_THERE},
    {.what = "an extension shortens",
     .deed = DEED_RENEW,
     .before = "UPDATE {lease} SET expires_at = renewed_at + "
               "(expires_at - renewed_at) / 2 WHERE released_at IS NULL"},
    {.what = "renew does not check the token", .deed = DEED_RENEW, .any_token = true},
    {.what = "renew revives what ran out",
     .deed = DEED_RENEW,
     .before = "UPDATE {lease} SET expires_at = " FOREVER " WHERE released_at IS NULL"},
    {.what = "renew does not renew",
     .deed = DEED_RENEW,
     .after = "UPDATE {lease} SET expires_at = " WAS("expires_at") WAS_THERE},
    {.what = "release does not check the token", .deed = DEED_RELEASE, .any_token = true},
    {.what = "release keeps it",
     .deed = DEED_RELEASE,
     .after = "UPDATE {lease} SET released_at = " WAS("released_at") ", expires_at = " WAS(
         "expires_at") WAS_THERE},
    {.what = "force-release records nothing",
     .deed = DEED_FORCE,
     .after = "UPDATE {lease} SET forced_fence = NULL, forced_at = NULL"},
    {.what = "the guard does not check the token", .deed = DEED_GUARD, .any_token = true},
    {.what = "the guard does not look at the clock",
     .deed = DEED_GUARD,
     .before = "UPDATE {lease} SET expires_at = " FOREVER " WHERE released_at IS NULL",
     .after = "UPDATE {lease} SET expires_at = " WAS("expires_at") WAS_THERE},
    {.what = "the guard does not look whether it was given back",
     .deed = DEED_GUARD,
     .before = "UPDATE {lease} SET released_at = NULL, expires_at = " FOREVER
               " WHERE released_at IS NOT NULL",
     .after = "UPDATE {lease} SET released_at = " WAS("released_at") ", expires_at = " WAS(
         "expires_at") WAS_THERE},
    {.what = "clean forgets what is held", .deed = DEED_CLEAN, .before = "DELETE FROM {lease}"},
};

/* The counter is the engine's. */
static const broken broken_counters[] = {
    {.what = "tokens go back",
     .deed = DEED_ACQUIRE,
     .before = "UPDATE {meta} SET fence = CASE WHEN fence > 2 THEN fence - 2 ELSE fence END,"
               " fence_mark = 0"},
    {.what = "tokens go back",
     .deed = DEED_ACQUIRE,
     .before = "SELECT setval('{fence}', greatest(1, (SELECT last_value FROM {fence}) - 2))"},
};

static void must_be_found(fixture *f, const broken *how)
{
    play *p = calloc(1, sizeof *p);
    uint64_t seed = 1;

    assert_non_null(p);
    test_defer(free, p);
    play_init(p, f, how);
    while (seed <= HISTORIES && play_history(p, seed, DEEDS))
        seed++;
    if (seed > HISTORIES)
        test_fail("%s, and nothing was found in %d histories", how->what, HISTORIES);
    printf("# %s: found in history %d: %s\n", how->what, (int)seed, p->wrong.text);
}

PAWL_TEST(every_broken_store_is_found)
{
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < sizeof broken_stores / sizeof broken_stores[0]; i++)
        must_be_found(f, &broken_stores[i]);
    must_be_found(f, &broken_counters[fixture_is_postgres(f)]);
}
