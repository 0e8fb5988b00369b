/*
 * tests/conformance/lane_test.c - topics and destinations that are not used any more cost nothing.
 *
 * A lane goes when it has been empty for a while (docs/internals/queue.md, "Lanes come and go").
 */
#include "queue_fixture.h"

#include <pawl_private/delivery_store.h>

#include <stdlib.h>
#include <string.h>

#include "lane_fixture.h"

#define MANY 2000
#define BATCH 200

/* Send one message to each of MANY topics or destinations, and finish all of them. */
static void use_many_once(fixture *f, bool destinations)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    pawl_message_spec messages[BATCH];
    const char *names[BATCH];

    for (int sent = 0; sent < MANY; sent += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            names[i] = test_note("used once %d", sent + i);
            messages[i] = queue_message(destinations ? "t" : names[i], "x");
            messages[i].destination = destinations ? names[i] : NULL;
        }
        assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, BATCH, NULL, &err), &err);
        opts.destinations = destinations ? names : NULL;
        opts.destination_count = destinations ? BATCH : 0;
        assert_int_equal(BATCH, queue_ack(f, queue_owner(1),
                                          queue_claim(f, queue_owner(1), DAY_MS, BATCH, &opts)));
    }
}

PAWL_TEST(topics_that_were_used_once_leave_no_lane)
{
    fixture *f = fixture_open(NULL);

    use_many_once(f, false);
    assert_int_equal(MANY, lane_count(f));
    lanes_fold(f, 3);
    assert_int_equal(MANY, lane_count(f)); /* they are in use, as far as is known */
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
    queue_check(f);
}

/* More than one call reads. PostgreSQL finds the idle ones by an index. */
PAWL_TEST_ON(sqlite, empty_lanes_behind_many_that_wait_are_removed)
{
    static pawl_message_spec waiting[PAWL_BATCH_MAX];
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_scan scan = {0, false};
    int calls = 0;

    for (int i = 0; i < PAWL_BATCH_MAX; i++) {
        waiting[i] = queue_message(test_note("waits %d", i), "x");
        waiting[i].delay_ms = DAY_MS;
    }
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), waiting, PAWL_BATCH_MAX, NULL, &err),
              &err);
    use_many_once(f, false);
    lanes_clean(f);
    assert_int_equal(PAWL_BATCH_MAX, lane_count(f));
    do
        assert_ok(pawl_queue_compact_stats(fixture_store(f), NULL, &scan, &err), &err);
    while (scan.more && ++calls < 10);
    assert_false(scan.more);
}

PAWL_TEST(destinations_that_were_used_once_leave_no_lane)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_destinations *list = NULL;

    use_many_once(f, true);
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
    assert_ok(pawl_queue_destinations(fixture_store(f), NULL, 10, &list, &err), &err);
    assert_int_equal(0, pawl_destinations_count(list));
    assert_false(pawl_destinations_more(list));
    pawl_destinations_free(list);
}

PAWL_TEST(a_message_keeps_its_topic_priority_and_destination_when_its_lane_is_gone)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.priority = 7;
    message.destination = "there";
    id = queue_send(f, &message).work_id;
    queue_ack(f, queue_owner(1), queue_claim_for(f, queue_owner(1), DAY_MS, 1, "there"));
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
    assert_string_equal("t", pawl_message_topic(queue_get(f, id)));
    assert_int_equal(7, pawl_message_priority(queue_get(f, id)));
    assert_string_equal("there", pawl_message_destination(queue_get(f, id)));
}

PAWL_TEST(unfinished_messages_keep_their_lane)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    queue_send_after(f, "scheduled", "x", 30 * DAY_MS);
    fixture_send(f, "paused", "x");
    assert_ok(pawl_topic_pause(fixture_store(f), "paused", NULL, &err), &err);
    fixture_send(f, "running", "x");
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(1), DAY_MS, 10)));
    for (int i = 0; i < 3; i++)
        lanes_clean(f);
    assert_int_equal(3, lane_count(f));
    queue_check(f);
}

PAWL_TEST(a_topic_that_is_used_again_gets_a_lane_again)
{
    fixture *f = fixture_open(NULL);

    for (int i = 0; i < 3; i++) {
        fixture_send(f, "t", "again");
        assert_string_equal("again", lanes_take(f));
        assert_string_equal("", lanes_take(f));
        lanes_clean(f);
        assert_int_equal(0, lane_count(f));
    }
}

static pawl_message_spec with_id(int number, const char *topic, const char *payload)
{
    pawl_message_spec message = queue_message(topic, payload);

    message.id = queue_id(number);
    return message;
}

/* A dead letter whose lane is gone. */
static pawl_message_spec send_dead(fixture *f, int number, const char *topic)
{
    pawl_message_spec message = with_id(number, topic, "x");

    queue_send(f, &message);
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), DAY_MS, 1), NULL);
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
    return message;
}

PAWL_TEST(a_message_that_exists_makes_no_lane_when_it_is_sent_again)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = send_dead(f, 1, "t");

    fixture_advance(f, 8 * DAY_MS);
    queue_prune(f, 7 * DAY_MS);
    assert_string_equal("", lanes_totals(f));
    assert_true(queue_send(f, &message).existed);
    assert_int_equal(0, lane_count(f));
    assert_string_equal("", lanes_totals(f));
    message.priority = 5;
    message.destination = "there";
    assert_true(queue_send(f, &message).existed);
    assert_int_equal(0, lane_count(f));
}

/* Also when a lane's new message comes after one of the same lane that exists. */
PAWL_TEST(a_batch_makes_the_lanes_of_its_new_messages_only)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued sent[4];
    pawl_message_spec batch[] = {send_dead(f, 1, "t"), with_id(2, "t", "2"), send_dead(f, 3, "u"),
                                 with_id(4, "v", "4")};

    batch[3].priority = 5;
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), batch, 4, sent, &err), &err);
    for (int i = 0; i < 4; i++)
        assert_int_equal(i % 2 == 0, sent[i].existed);
    assert_int_equal(2, lane_count(f));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {lane} WHERE topic = 'u'"));
    queue_check(f);
    assert_string_equal("4 2", lanes_take(f));
}

PAWL_TEST(a_batch_of_one_lane_makes_it_when_one_of_its_messages_is_new)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec batch[] = {send_dead(f, 1, "t"), send_dead(f, 2, "t"), with_id(3, "t", "3")};

    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), batch, 2, NULL, &err), &err);
    assert_int_equal(0, lane_count(f));
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), batch, 3, NULL, &err), &err);
    assert_int_equal(1, lane_count(f));
    assert_string_equal("3", lanes_take(f));
}

PAWL_TEST(a_dead_letter_is_ready_again_after_its_lane_is_gone)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = queue_make(f, "t", "dead", PAWL_STATE_FAILED);

    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
    assert_int_equal(1, queue_retry(f, id));
    queue_check(f);
    assert_string_equal("dead", lanes_take(f));
}

PAWL_TEST(a_pause_applies_to_lanes_created_later)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
    assert_ok(pawl_topic_pause(fixture_store(f), "t", NULL, &err), &err);
    fixture_send(f, "t", "waits");
    assert_string_equal("", lanes_take(f));
    lanes_clean(f);
    assert_string_equal("", lanes_take(f));
    assert_ok(pawl_topic_resume(fixture_store(f), "t", NULL, &err), &err);
    assert_string_equal("waits", lanes_take(f));
}

PAWL_TEST(totals_outlive_the_lane_and_go_after_the_retention_time)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    queue_make(f, "t", "x", PAWL_STATE_DONE);
    queue_make(f, "t", "x", PAWL_STATE_FAILED);
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
    assert_string_equal("t 2 1", lanes_totals(f));
    queue_make(f, "t", "x", PAWL_STATE_DONE);
    assert_string_equal("t 3 1", lanes_totals(f));
    queue_prune(f, 7 * DAY_MS);
    lanes_clean(f);
    fixture_advance(f, 6 * DAY_MS);
    queue_prune(f, 7 * DAY_MS);
    assert_string_equal("t 3 1", lanes_totals(f));
    fixture_advance(f, 2 * DAY_MS);
    queue_prune(f, 7 * DAY_MS);
    assert_string_equal("", lanes_totals(f));
}

/* However short that is. */
PAWL_TEST(totals_are_kept_no_longer_than_the_retention_time)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    queue_prune(f, 0);
    assert_string_equal("t 1 0", lanes_totals(f)); /* it has a lane */
    lanes_clean(f);
    queue_prune(f, HOUR_MS);
    assert_string_equal("t 1 0", lanes_totals(f));
    fixture_advance(f, HOUR_MS);
    queue_prune(f, HOUR_MS);
    assert_string_equal("", lanes_totals(f));
}

/* A total that has not changed for long is kept with one that has. */
PAWL_TEST(the_totals_of_a_topic_go_together)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_FAILED);
    lanes_clean(f);
    fixture_advance(f, 5 * DAY_MS);
    queue_make(f, "t", "x", PAWL_STATE_DONE);
    lanes_clean(f);
    fixture_advance(f, 3 * DAY_MS);
    queue_prune(f, 7 * DAY_MS);
    assert_string_equal("t 1 1", lanes_totals(f));
    fixture_advance(f, 5 * DAY_MS);
    queue_prune(f, 7 * DAY_MS);
    assert_string_equal("", lanes_totals(f));
}

/* A dead letter expires when its topic has no lane any more. */
PAWL_TEST(totals_stay_when_a_dead_letter_has_expired)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_error err = PAWL_ERROR_INIT;

    message.expires_at = (pawl_wall){fixture_now(f).us + 9 * DAY_MS * 1000};
    queue_send(f, &message);
    const pawl_receipt *item = queue_receipts(fixture_claim(f, queue_owner(1), DAY_MS, 1));
    assert_ok(pawl_queue_fail(fixture_store(f), queue_owner(1), item, 1, "no", NULL, &err), &err);
    lanes_clean(f);
    fixture_advance(f, 9 * DAY_MS);
    assert_int_equal(1, queue_expire(f));
    queue_prune(f, 7 * DAY_MS); /* before the expiry is added to the totals, on PostgreSQL */
    assert_string_equal("t 0 1", lanes_totals(f));
}

/* More than one call forgets: the call says so. */
PAWL_TEST(pruning_totals_reports_that_more_remain)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_scan scan = {0, true};

    use_many_once(f, false);
    queue_prune(f, 0);
    queue_prune(f, 0);
    lanes_clean(f);
    for (int calls = 0; scan.more; calls++) {
        assert_true(calls < MANY);
        assert_ok(pawl_queue_prune(fixture_store(f), 0, NULL, &scan, &err), &err);
    }
    assert_string_equal("", lanes_totals(f));
}

PAWL_TEST(a_clock_that_jumps_removes_no_lane_that_is_not_empty)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "used", "x", PAWL_STATE_DONE);
    queue_send_after(f, "scheduled", "x", 3650 * DAY_MS);
    fixture_advance(f, 365 * DAY_MS);
    lanes_clean(f);
    assert_int_equal(1, lane_count(f));
    queue_make(f, "used", "x", PAWL_STATE_DONE);
    if (fixture_is_postgres(f)) {
        /* Back again: it does not take a year until the lane goes. */
        fixture_set(f, FIXTURE_START);
        lanes_fold(f, 1);
        lanes_clean(f);
        assert_int_equal(1, lane_count(f));
    }
    queue_check(f);
}
