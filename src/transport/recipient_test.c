/* src/transport/recipient_test.c - a delivery's memory of destinations has a bound. */
#include "recipient.h"

#include "test.h"

#define IDLE_US INT64_C(300000000)
#define MANY 2000

static void free_recipients(void *recipients)
{
    pawli_recipients_done(recipients);
}

static pawli_recipients *some(int count)
{
    static pawli_recipients recipients;

    recipients = (pawli_recipients){0};
    test_defer(free_recipients, &recipients);
    for (int i = 0; i < count; i++)
        assert_non_null(
            pawli_recipients_get(&recipients, test_note("d%04d", i), &pawli_breaker_usual));
    return &recipients;
}

PAWL_TEST(destinations_that_are_not_used_any_more_are_forgotten)
{
    pawli_recipients *recipients = some(MANY);

    assert_int_equal(0, pawli_recipients_forget(recipients, (pawl_mono){0}, IDLE_US));
    assert_int_equal(0, pawli_recipients_forget(recipients, (pawl_mono){IDLE_US - 1}, IDLE_US));
    assert_int_equal(MANY, pawli_recipients_forget(recipients, (pawl_mono){IDLE_US}, IDLE_US));
    assert_int_equal(0, recipients->count);
    assert_true(recipients->capacity < MANY);
    assert_non_null(pawli_recipients_get(recipients, "d0001", &pawli_breaker_usual));
}

PAWL_TEST(what_is_in_use_stays)
{
    pawli_recipients *recipients = some(6);
    pawl_mono now = {0};

    pawli_recipients_forget(recipients, now, IDLE_US);
    recipients->items[0]->wanted = true;
    recipients->items[1]->users = 1;
    recipients->items[2]->quiet_until = (pawl_mono){IDLE_US + 1};
    recipients->items[3]->breaker.state = PAWLI_BREAKER_OPEN;
    recipients->items[3]->breaker.retry_at = (pawl_mono){IDLE_US + 1};
    recipients->items[4]->breaker.state = PAWLI_BREAKER_HALF_OPEN; /* and nothing to try it with */
    assert_int_equal(2, pawli_recipients_forget(recipients, (pawl_mono){IDLE_US}, IDLE_US));
    assert_int_equal(4, recipients->count);
    assert_string_equal("d0003", recipients->items[3]->name);
    recipients->items[0]->wanted = false;
    recipients->items[1]->users = 0;
    /* Counted from when they were last seen in use. */
    assert_int_equal(0, pawli_recipients_forget(recipients, (pawl_mono){2 * IDLE_US - 1}, IDLE_US));
    assert_int_equal(4, pawli_recipients_forget(recipients, (pawl_mono){2 * IDLE_US}, IDLE_US));
}
