/* src/transport/destination_test.c - the number of destinations a delivery remembers is bounded. */
#include "destination.h"

#include "test.h"

#define IDLE_US INT64_C(300000000)
#define MANY 2000

static void free_recipients(void *destinations)
{
    pawli_destinations_done(destinations);
}

static pawli_destinations *some(int count)
{
    static pawli_destinations destinations;

    destinations = (pawli_destinations){0};
    test_defer(free_recipients, &destinations);
    for (int i = 0; i < count; i++)
        assert_non_null(
            pawli_destinations_get(&destinations, test_note("d%04d", i), &pawli_breaker_usual));
    return &destinations;
}

PAWL_TEST(unused_destinations_are_removed)
{
    pawli_destinations *destinations = some(MANY);

    assert_int_equal(0, pawli_destinations_forget(destinations, (pawl_mono){0}, IDLE_US));
    assert_int_equal(0, pawli_destinations_forget(destinations, (pawl_mono){IDLE_US - 1}, IDLE_US));
    assert_int_equal(MANY, pawli_destinations_forget(destinations, (pawl_mono){IDLE_US}, IDLE_US));
    assert_int_equal(0, destinations->count);
    assert_true(destinations->capacity < MANY);
    assert_non_null(pawli_destinations_get(destinations, "d0001", &pawli_breaker_usual));
}

PAWL_TEST(stores_in_use_are_kept)
{
    pawli_destinations *destinations = some(6);
    pawl_mono now = {0};

    pawli_destinations_forget(destinations, now, IDLE_US);
    destinations->items[0]->wanted = true;
    destinations->items[1]->users = 1;
    destinations->items[2]->quiet_until = (pawl_mono){IDLE_US + 1};
    destinations->items[3]->breaker.state = PAWLI_BREAKER_OPEN;
    destinations->items[3]->breaker.retry_at = (pawl_mono){IDLE_US + 1};
    destinations->items[4]->breaker.state =
        PAWLI_BREAKER_HALF_OPEN; /* and there is no message for a probe */
    assert_int_equal(2, pawli_destinations_forget(destinations, (pawl_mono){IDLE_US}, IDLE_US));
    assert_int_equal(4, destinations->count);
    assert_string_equal("d0003", destinations->items[3]->name);
    destinations->items[0]->wanted = false;
    destinations->items[1]->users = 0;
    /* Measured from when they were last in use. */
    assert_int_equal(
        0, pawli_destinations_forget(destinations, (pawl_mono){2 * IDLE_US - 1}, IDLE_US));
    assert_int_equal(4, pawli_destinations_forget(destinations, (pawl_mono){2 * IDLE_US}, IDLE_US));
}
