/* tests/conformance/clock_test.c - the database's clock decides, also when it jumps. */
#include "kit.h"

#include <time.h>

static pawl_wall store_now(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now = PAWL_NEVER;

    assert_ok(pawl_store_now(fixture_store(f), &now, &err), &err);
    return now;
}

PAWL_TEST(the_store_tells_the_clock_of_the_database)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    assert_time(FIXTURE_START.us, store_now(f));
    fixture_advance(f, 1234);
    assert_time(FIXTURE_START.us + 1234000, store_now(f));
    assert_status(PAWL_E_INVALID, pawl_store_now(fixture_store(f), NULL, &err), &err);
}

PAWL_TEST(the_real_clock_is_the_machines)
{
    const fixture_options opts = {.real_clock = true};
    fixture *f = fixture_open(&opts);
    int64_t before = (int64_t)time(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_wall now = store_now(f);
    int64_t after = (int64_t)time(NULL);

    /* One second on either side: both are rounded. */
    assert_in_range(now.us / 1000000, before - 1, after + 1);
    assert_in_range(pawl_message_created_at(kit_get(f, id)).us / 1000000, before - 1, after + 1);
    assert_true(store_now(f).us >= now.us);
    assert_string_equal("x", kit_payloads(fixture_claim(f, kit_owner(1), MINUTE_MS, 1)));
}

PAWL_TEST(sqlite_keeps_the_highest_time_it_wrote_down)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id;

    if (fixture_is_postgres(f))
        test_skip("PostgreSQL's clock is its machine's");
    fixture_advance(f, HOUR_MS);
    fixture_send(f, "t", "x");
    fixture_set(f, FIXTURE_START);
    assert_time(FIXTURE_START.us + HOUR_MS * 1000, store_now(f));
    id = fixture_send(f, "t", "y");
    assert_time(FIXTURE_START.us + HOUR_MS * 1000, pawl_message_created_at(kit_get(f, id)));
    fixture_advance(f, 2 * HOUR_MS);
    fixture_claim(f, kit_owner(1), MINUTE_MS, 10);
    fixture_set(f, FIXTURE_START);
    fixture_reopen(f);
    assert_time(FIXTURE_START.us + 2 * HOUR_MS * 1000, store_now(f));
}

PAWL_TEST(a_clock_that_steps_back_loses_nothing)
{
    fixture *f = fixture_open(NULL);

    fixture_advance(f, HOUR_MS);
    fixture_send(f, "t", "before");
    assert_string_equal("before", kit_payloads(fixture_claim(f, kit_owner(1), DAY_MS, 10)));
    fixture_send(f, "t", "waits");
    fixture_set(f, FIXTURE_START);
    fixture_send(f, "t", "after");
    /* PostgreSQL gives what was sent after the step at once, the rest when its time comes again. */
    fixture_claim(f, kit_owner(1), DAY_MS, 10);
    fixture_advance(f, 2 * HOUR_MS);
    fixture_claim(f, kit_owner(1), DAY_MS, 10);
    assert_int_equal(3, fixture_count(f, "SELECT count(*) FROM {message} WHERE state = 1"));
    kit_check(f);
}

PAWL_TEST(what_is_sent_after_a_step_back_is_claimed)
{
    fixture *f = fixture_open(NULL);

    fixture_advance(f, HOUR_MS);
    for (int i = 0; i < 3; i++) {
        fixture_send(f, "t", "old");
        assert_string_equal("old", kit_payloads(fixture_claim(f, kit_owner(1), DAY_MS, 10)));
        fixture_advance(f, SECOND_MS);
    }
    fixture_set(f, FIXTURE_START);
    fixture_send(f, "t", "new");
    assert_string_equal("new", kit_payloads(fixture_claim(f, kit_owner(1), DAY_MS, 10)));
}

PAWL_TEST(a_clock_that_jumps_ahead_ends_leases_and_the_fence_protects)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *early, *late;

    fixture_send(f, "t", "x");
    early = fixture_claim(f, kit_owner(1), HOUR_MS, 1);
    fixture_advance(f, DAY_MS);
    assert_int_equal(1, kit_reap(f));
    late = fixture_claim(f, kit_owner(2), HOUR_MS, 1);
    assert_int_equal(0, kit_ack(f, kit_owner(1), early));
    assert_int_equal(1, kit_ack(f, kit_owner(2), late));
}

PAWL_TEST(times_keep_their_microseconds)
{
    fixture *f = fixture_open(NULL);
    pawl_outgoing message = kit_message("t", "x");
    const pawl_message *m;

    fixture_set(f, (pawl_wall){FIXTURE_START.us + 123457});
    message.due_at = (pawl_wall){FIXTURE_START.us + 987654321};
    m = kit_get(f, kit_send(f, &message).work_id);
    assert_time(FIXTURE_START.us + 123457, pawl_message_created_at(m));
    assert_time(FIXTURE_START.us + 987654321, pawl_message_due_at(m));
}
