/* tests/conformance/order_test.c - in which order messages are claimed. */
#include "queue_fixture.h"

#include <string.h>

PAWL_TEST(within_a_topic_the_due_time_decides)
{
    fixture *f = fixture_open(NULL);

    queue_send_after(f, "t", "third", 3000);
    queue_send_after(f, "t", "first", 1000);
    queue_send_after(f, "t", "second", 2000);
    fixture_advance(f, 5000);
    fixture_send(f, "t", "fourth");
    assert_string_equal("first second third fourth",
                        queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(at_the_same_due_time_the_older_message_comes_first)
{
    fixture *f = fixture_open(NULL);

    for (int i = 0; i < 5; i++)
        fixture_send(f, "t", test_note("%d", i));
    assert_string_equal("0 1", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 2)));
    assert_string_equal("2 3 4", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(a_higher_priority_comes_first_within_a_topic)
{
    fixture *f = fixture_open(NULL);

    queue_send_priority(f, "t", "low", 0);
    queue_send_priority(f, "t", "middle", 4);
    queue_send_priority(f, "t", "high", 9);
    assert_string_equal("high", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    queue_send_priority(f, "t", "higher", 5);
    assert_string_equal("higher middle low",
                        queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(priority_applies_across_topics)
{
    fixture *f = fixture_open(NULL);

    queue_send_priority(f, "a", "a0", 0);
    queue_send_priority(f, "b", "b9", 9);
    queue_send_priority(f, "c", "c5", 5);
    queue_send_priority(f, "a", "a7", 7);
    assert_string_equal("b9 a7 c5 a0",
                        queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(a_high_priority_message_not_yet_due_does_not_delay_a_low_one)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "later");

    message.priority = 9;
    message.delay_ms = HOUR_MS;
    queue_send(f, &message);
    fixture_send(f, "t", "now");
    assert_string_equal("now", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(topics_of_equal_priority_are_claimed_in_rotation)
{
    fixture *f = fixture_open(NULL);
    int seen[3] = {0};

    for (int i = 0; i < 10; i++)
        for (int topic = 0; topic < 3; topic++)
            fixture_send(f, test_note("topic%d", topic), test_note("%d", topic));
    for (int i = 0; i < 9; i++) {
        pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);

        assert_int_equal(1, pawl_messages_count(list));
        seen[queue_payload(pawl_messages_at(list, 0))[0] - '0']++;
    }
    assert_int_equal(3, seen[0]);
    assert_int_equal(3, seen[1]);
    assert_int_equal(3, seen[2]);
}

PAWL_TEST(a_busy_topic_does_not_starve_a_quiet_one)
{
    fixture *f = fixture_open(NULL);
    bool came = false;

    for (int i = 0; i < 30; i++)
        fixture_send(f, "busy", "b");
    for (int priority = 1; priority < 4; priority++)
        queue_make(f, "other lanes", "x", PAWL_STATE_DONE);
    fixture_send(f, "quiet", "q");
    /* With three topics at one priority the quiet one is first within three claims. */
    for (int i = 0; i < 3; i++)
        came = came || strstr(queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 5)), "q");
    assert_true(came);
}

PAWL_TEST(rotation_works_among_many_lanes_and_with_a_topic_filter)
{
    fixture *f = fixture_open(NULL);
    static const char *const wanted[] = {"quiet", "busy"};
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    bool came = false;
    int lanes = 0;

    for (int priority = 0; priority < 10; priority++)
        queue_send_priority(f, "unwanted", "u", priority);
    for (int i = 0; i < 40; i++)
        fixture_send(f, "busy", "b");
    fixture_send(f, "quiet", "q");
    opts.topics = wanted;
    opts.topic_count = 2;
    lanes = (int)fixture_count(f, "SELECT count(*) FROM {lane}");
    for (int i = 0; i < lanes && !came; i++)
        came =
            strcmp(queue_payloads(queue_claim(f, queue_owner(1), MINUTE_MS, 1, &opts)), "q") == 0;
    assert_true(came);
}

PAWL_TEST(a_message_that_comes_back_is_ordered_by_its_next_attempt)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list;

    fixture_send(f, "t", "old");
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    queue_send_after(f, "t", "between", 2000);
    assert_int_equal(1, queue_abandon(f, queue_owner(1), list, NULL, 3000));
    fixture_advance(f, 4000);
    assert_string_equal("between old",
                        queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(everything_is_claimed_in_the_end_for_any_lanes)
{
    fixture *f = fixture_open(NULL);
    size_t total = 0, got;
    int last_priority = 9;

    for (int i = 0; i < 60; i++)
        queue_send_priority(f, test_note("topic%d", i % 7), "x", i % 10);
    do {
        pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 4);

        got = pawl_messages_count(list);
        total += got;
        for (size_t i = 0; i < got; i++) {
            int priority = pawl_message_priority(pawl_messages_at(list, i));

            assert_true(priority <= last_priority);
            last_priority = priority;
        }
    } while (got > 0);
    assert_int_equal(60, total);
}
