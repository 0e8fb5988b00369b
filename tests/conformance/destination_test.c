/* tests/conformance/destination_test.c - messages for elsewhere: who takes them, and who is woken.
 */
#include "queue_fixture.h"

#include <pawl_private/delivery_store.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pawl_work_id send_to(fixture *f, const char *destination, const char *topic,
                            const char *payload, int priority)
{
    pawl_message_spec message = queue_message(topic, payload);

    message.destination = destination;
    message.priority = priority;
    return queue_send(f, &message).work_id;
}

/* A claim that names destinations, as "a b c". */
static const char *claim_for(fixture *f, const char *const *names, size_t count,
                             const int64_t *limits, int limit)
{
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;

    opts.destinations = names;
    opts.destination_count = count;
    opts.destination_limits = limits;
    return queue_payloads(queue_claim(f, queue_owner(1), MINUTE_MS, limit, &opts));
}

static const char *claim_local(fixture *f)
{
    return queue_payloads(fixture_claim(f, queue_owner(2), MINUTE_MS, 100));
}

static const char *claim_from(fixture *f, const char *name)
{
    return claim_for(f, &name, 1, NULL, 100);
}

PAWL_TEST(a_plain_claim_takes_local_messages_only)
{
    const char *const topics[] = {"t"};
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    fixture *f = fixture_open(NULL);

    send_to(f, "there", "t", "remote", 9);
    fixture_send(f, "t", "local");
    opts.topics = topics;
    opts.topic_count = 1;
    assert_string_equal("local",
                        queue_payloads(queue_claim(f, queue_owner(1), MINUTE_MS, 10, &opts)));
    fixture_send(f, "t", "another");
    assert_string_equal("another", claim_local(f));
    assert_string_equal("", claim_local(f));
    queue_check(f);
}

PAWL_TEST(a_claim_for_destinations_takes_only_theirs_of_all_topics)
{
    fixture *f = fixture_open(NULL);

    send_to(f, "a", "t", "a1", 0);
    send_to(f, "a", "u", "a2", 5);
    send_to(f, "b", "t", "b1", 0);
    fixture_send(f, "t", "local");
    assert_string_equal("a2 a1", claim_from(f, "a"));
    assert_string_equal("", claim_from(f, "a"));
    assert_string_equal("", claim_from(f, "A"));
    assert_string_equal("b1", claim_from(f, "b"));
    assert_string_equal("local", claim_local(f));
    queue_check(f);
}

PAWL_TEST(destinations_are_taken_in_their_order_each_up_to_its_limit)
{
    static const char *const names[] = {"b", "none", "a", "c"};
    static const int64_t limits[] = {2, 7, 1, 3};
    fixture *f = fixture_open(NULL);

    for (int i = 0; i < 4; i++) {
        send_to(f, "a", "t", test_note("a%d", i), 0);
        send_to(f, "b", "t", test_note("b%d", i), i == 3 ? 9 : 0);
        send_to(f, "c", i % 2 ? "t" : "u", test_note("c%d", i), i);
    }
    assert_string_equal("b3 b0 a0 c3 c2 c1", claim_for(f, names, 4, limits, 100));
    assert_string_equal("b1 b2 a1 c0", claim_for(f, names, 4, limits, 4));
    assert_string_equal("a2 a3", claim_for(f, names, 4, NULL, 2));
    assert_string_equal("", claim_for(f, names, 4, NULL, 10));
    queue_check(f);
}

PAWL_TEST(topics_of_a_destination_are_claimed_in_rotation)
{
    const char *name = "there";
    fixture *f = fixture_open(NULL);
    bool came = false;

    for (int i = 0; i < 50; i++)
        send_to(f, name, "busy", "x", 0);
    send_to(f, name, "quiet", "quiet", 0);
    for (int i = 0; i < 40 && !came; i++)
        came = strcmp(claim_for(f, &name, 1, NULL, 1), "quiet") == 0;
    assert_true(came);
}

PAWL_TEST(a_batch_of_many_lanes_stores_each_message_in_its_own)
{
    pawl_message_spec messages[12];
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        messages[i] = queue_message(i % 2 ? "t" : "u", test_note("%zu", i));
        messages[i].destination = i % 3 == 0 ? NULL : i % 3 == 1 ? "one" : "two";
        if (i >= 6)
            messages[i].id = queue_id((int)i); /* the way for ids that may exist */
        if (i == 6)
            assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, 6, NULL, &err), &err);
    }
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages + 6, 6, NULL, &err), &err);
    queue_check(f); /* each is in the lane of its destination */
    assert_int_equal(4,
                     pawl_messages_count(queue_claim_for(f, queue_owner(1), MINUTE_MS, 9, "one")));
    assert_int_equal(4,
                     pawl_messages_count(queue_claim_for(f, queue_owner(1), MINUTE_MS, 9, "two")));
    assert_int_equal(4, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 9)));
}

PAWL_TEST(a_message_that_becomes_ready_again_keeps_its_destination)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = send_to(f, "there", "t", "x", 0);
    pawl_messages *list = queue_claim_for(f, queue_owner(1), SECOND_MS, 1, "there");

    assert_int_equal(1, queue_release(f, queue_owner(1), list));
    assert_string_equal("", claim_local(f));
    list = queue_claim_for(f, queue_owner(1), SECOND_MS, 1, "there");
    assert_int_equal(1, queue_abandon(f, queue_owner(1), list, "no", 1));
    fixture_advance(f, 1);
    assert_int_equal(
        1, pawl_messages_count(queue_claim_for(f, queue_owner(1), SECOND_MS, 1, "there")));
    fixture_advance(f, MINUTE_MS);
    assert_int_equal(1, queue_reap(f));
    assert_string_equal("", claim_local(f));
    list = queue_claim_for(f, queue_owner(1), SECOND_MS, 1, "there");
    assert_int_equal(1, queue_fail(f, queue_owner(1), list, "never"));
    assert_int_equal(1, queue_retry(f, id));
    assert_string_equal("", claim_local(f));
    assert_string_equal("x", claim_from(f, "there"));
    queue_check(f);
}

PAWL_TEST(a_paused_topic_is_paused_for_every_destination)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    send_to(f, "there", "t", "old", 0);
    assert_ok(pawl_topic_pause(fixture_store(f), "t", NULL, &err), &err);
    send_to(f, "elsewhere", "t", "new", 0); /* a lane that comes later */
    send_to(f, "there", "u", "other", 0);
    assert_string_equal("other", claim_from(f, "there"));
    assert_string_equal("", claim_from(f, "elsewhere"));
    queue_check(f);
    assert_ok(pawl_topic_resume(fixture_store(f), "t", NULL, &err), &err);
    assert_string_equal("old", claim_from(f, "there"));
    assert_string_equal("new", claim_from(f, "elsewhere"));
}

PAWL_TEST(a_topic_is_counted_over_all_its_destinations)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;

    assert_ok(pawl_topic_dead_letters(fixture_store(f), "t", true, &err), &err);
    fixture_send(f, "t", "x");
    send_to(f, "a", "t", "x", 0);
    send_to(f, "b", "t", "x", 0);
    queue_ack(f, queue_owner(1), queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, "a"));
    queue_fail(f, queue_owner(1), queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, "b"), "no");
    assert_ok(pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
    assert_int_equal(1, pawl_outbox_stats_count(stats));
    assert_int_equal(1, pawl_outbox_stats_at(stats, 0)->ready);
    assert_int_equal(1, pawl_outbox_stats_at(stats, 0)->total_done);
    assert_int_equal(1, pawl_outbox_stats_at(stats, 0)->total_failed);
    pawl_outbox_stats_free(stats);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {dead}"));
    queue_check(f);
}

/* The names, as "a b c", page by page. */
static const char *destinations(fixture *f, int page)
{
    const char *all = "", *after = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    for (bool more = true; more;) {
        pawl_destinations *list = NULL;

        assert_ok(pawl_queue_destinations(fixture_store(f), after, page, &list, &err), &err);
        for (size_t i = 0; i < pawl_destinations_count(list); i++)
            all = test_note("%s%s%s", all, *all ? " " : "", pawl_destinations_at(list, i));
        assert_null(pawl_destinations_at(list, pawl_destinations_count(list)));
        more = pawl_destinations_more(list);
        if (more)
            after = test_note("%s", pawl_destinations_last(list));
        pawl_destinations_free(list);
    }
    return all;
}

PAWL_TEST(destinations_with_unfinished_messages_are_listed_by_name)
{
    fixture *f = fixture_open(NULL);

    assert_string_equal("", destinations(f, 10));
    fixture_send(f, "t", "local");
    for (int i = 0; i < 25; i++) /* finished, and in the way of a page */
        assert_int_equal(1, queue_cancel(f, send_to(f, test_note("m%02d", i), "t", "x", 0)));
    send_to(f, "z", "t", "ready", 0);
    send_to(f, "z", "u", "ready", 0);
    send_to(f, "B", "t", "held", 0);
    pawl_message_spec later = queue_message("t", "later");
    later.destination = "a";
    later.delay_ms = DAY_MS;
    queue_send(f, &later);
    assert_string_equal("held", claim_from(f, "B"));
    assert_string_equal("B a z", destinations(f, 10));
    assert_string_equal("B a z", destinations(f, 1));
    assert_string_equal("B a z", destinations(f, 2));
}

PAWL_TEST(a_claimant_can_have_destinations)
{
    static const char *const names[] = {"a", "b"};
    static const int64_t limits[] = {1, 1};
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claimant *claimant = NULL;
    pawl_messages *list = NULL;
    size_t changed = 0;

    send_to(f, "a", "t", "a", 0);
    send_to(f, "a", "t", "a", 0);
    send_to(f, "b", "t", "b", 0);
    opts.destinations = names;
    opts.destination_count = 2;
    opts.destination_limits = limits;
    assert_ok(pawl_claimant_new(fixture_store(f), queue_owner(1), &opts, &claimant, &err), &err);
    assert_ok(pawl_claimant_claim(claimant, MINUTE_MS, 10, &list, &err), &err);
    assert_string_equal("a b", queue_payloads(queue_keep(list)));
    pawl_work_id ids[] = {pawl_message_work_id(pawl_messages_at(list, 0)),
                          pawl_message_work_id(pawl_messages_at(list, 1))};
    assert_ok(pawl_claimant_ack(claimant, ids, 2, &changed, &err), &err);
    assert_int_equal(2, changed);
    pawl_claimant_free(claimant);
}

static void destination_refuse(fixture *f, const pawl_claim_options *opts, const char *words)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_int_equal(PAWL_E_INVALID, pawl_queue_claim(fixture_store(f), queue_owner(1), MINUTE_MS,
                                                      1, opts, &list, &err));
    assert_says(&err, words);
    assert_null(list);
}

PAWL_TEST(a_claim_with_bad_destinations_is_refused)
{
    static const char *const good[] = {"a"}, *const empty[] = {""}, *const bad[] = {"\x80"};
    static const int64_t zero[] = {0};
    fixture *f = fixture_open(NULL);
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_destinations *list = NULL;
    pawl_messages *messages = NULL;

    opts.destination_count = 1;
    destination_refuse(f, &opts, "NULL");
    opts.destinations = empty;
    destination_refuse(f, &opts, "destination 1");
    opts.destinations = bad;
    destination_refuse(f, &opts, "destination 1");
    opts.destinations = good;
    opts.destination_limits = zero;
    destination_refuse(f, &opts, "limit of destination 1");
    opts.destination_limits = NULL;
    assert_int_equal(PAWL_E_INVALID, pawl_dead_claim(fixture_store(f), queue_owner(1), MINUTE_MS, 1,
                                                     &opts, &messages, &err));
    opts.destination_count = 0;
    destination_refuse(f, &opts, "1 to 1000");
    opts.destination_count = 1;
    opts.topics = good;
    opts.topic_count = 1;
    destination_refuse(f, &opts, "topics or destinations");
    assert_int_equal(PAWL_E_INVALID,
                     pawl_queue_destinations(fixture_store(f), NULL, 0, &list, &err));
    assert_int_equal(PAWL_E_INVALID,
                     pawl_queue_destinations(fixture_store(f), "\x80", 1, &list, &err));
    assert_int_equal(PAWL_E_INVALID,
                     pawl_queue_destinations(fixture_store(f), NULL, 1, NULL, &err));
}

PAWL_TEST(a_destination_is_limited_in_bytes)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message(test_note("%0255d", 0), "x");
    pawl_error err = PAWL_ERROR_INIT;
    char long_name[PAWL_DESTINATION_MAX + 2];

    for (size_t i = 0; i < sizeof long_name; i += 2)
        memcpy(long_name + i, "\xc3\xa9", 2);
    long_name[PAWL_DESTINATION_MAX] = '\0';
    message.destination = long_name;
    queue_send(f, &message);
    assert_int_equal(
        1, pawl_messages_count(queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, long_name)));
    memcpy(long_name + PAWL_DESTINATION_MAX - 2, "xyz", 4);
    assert_int_equal(PAWL_E_INVALID, pawl_outbox_enqueue(fixture_store(f), &message, NULL, &err));
    assert_says(&err, "bytes");
}

/* ---- waking ---- */

static void free_waiter(void *waiter)
{
    pawl_waiter_free(waiter);
}

static pawl_waiter *make_waiter(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_waiter *waiter = NULL;

    assert_ok(pawl_waiter_new(fixture_store(f), &waiter, &err), &err);
    test_defer(free_waiter, waiter);
    return waiter;
}

/* As a loop does: until there is something. A lost wake-up is a test that takes ten minutes. */
static const char *work_for(fixture *f, pawl_waiter *waiter, const char *name)
{
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    opts.destinations = &name;
    opts.destination_count = 1;
    while (true) {
        const char *taken = claim_from(f, name);

        if (*taken) {
            pawl_waiter_disarm(waiter);
            return taken;
        }
        assert_ok(pawl_waiter_arm(waiter, &opts, &err), &err);
        taken = claim_from(f, name);
        if (*taken)
            return taken;
        assert_ok(pawl_waiter_wait(waiter, 10 * MINUTE_MS, -1, &err), &err);
    }
}

PAWL_TEST(a_message_for_a_destination_that_is_due_ends_the_wait)
{
    const fixture_options real = {.real_clock = true};
    fixture *f = fixture_open(&real);
    pawl_waiter *waiter = make_waiter(f);
    pawl_message_spec soon = queue_message("t", "soon");

    send_to(f, "elsewhere", "t", "not ours", 0); /* ready all the time, and never claimed */
    fixture_send(f, "t", "local");
    soon.destination = "there";
    soon.delay_ms = 150;
    queue_send(f, &soon);
    assert_string_equal("soon", work_for(f, waiter, "there"));
}

PAWL_TEST(a_descriptor_and_a_nudge_end_the_wait)
{
    fixture *f = fixture_open(NULL);
    pawl_waiter *waiter = make_waiter(f);
    pawl_error err = PAWL_ERROR_INIT;
    int ends[2];

    assert_int_equal(0, pipe(ends));
    assert_int_equal(1, write(ends[1], "x", 1));
    assert_ok(pawl_waiter_arm_others(waiter, NULL, 0, &err), &err);
    assert_ok(pawl_waiter_wait(waiter, 10 * MINUTE_MS, ends[0], &err), &err);
    close(ends[0]);
    close(ends[1]);
    assert_ok(pawl_waiter_arm(waiter, NULL, &err), &err);
    pawl_waiter_wake(waiter);
    assert_ok(pawl_waiter_wait(waiter, 10 * MINUTE_MS, -1, &err), &err);
    assert_ok(pawl_waiter_wait(waiter, 10 * MINUTE_MS, -1, &err), &err); /* not armed */
    assert_int_equal(PAWL_E_INVALID, pawl_waiter_wait(waiter, -1, -1, &err));
    assert_int_equal(PAWL_E_INVALID, pawl_waiter_arm_others(waiter, NULL, 1, &err));
    assert_int_equal(PAWL_E_INVALID, pawl_waiter_arm(NULL, NULL, &err));
}

/* The result of next_due on both engines: the time of the next scheduled message. */
static int64_t due_after(fixture *f, const char *arguments)
{
    return fixture_count(f, "SELECT coalesce({us:due}, 0) FROM {next_due}(%s)", arguments) -
           FIXTURE_START.us;
}

/* A function of PostgreSQL; the waiter's tests show the same for SQLite. */
PAWL_TEST_ON(postgres, next_due_is_of_the_destinations_asked_for)
{
    static const struct {
        const char *destination;
        int64_t ms;
    } later[] = {{NULL, 1000}, {"a", 2000}, {"b", 3000}, {"c", 4000}};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(later); i++) {
        pawl_message_spec message = queue_message("t", "x");
        message.destination = later[i].destination;
        message.delay_ms = later[i].ms;
        queue_send(f, &message);
    }
    assert_int_equal(1000000, due_after(f, ""));
    assert_int_equal(1000000, due_after(f, "ARRAY['t']"));
    assert_int_equal(3000000, due_after(f, "NULL, ARRAY['c', 'b']"));
    assert_int_equal(2000000, due_after(f, "NULL, ARRAY[]::text[], true"));
    assert_int_equal(4000000, due_after(f, "NULL, ARRAY['a', 'b'], true"));
}
