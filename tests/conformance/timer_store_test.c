/* tests/conformance/timer_store_test.c - timers that are messages of a store, and only theirs. */
#include "timer_fixture.h"

#include <pawl/sys/strategy.h>

static pawl_wall start_plus(int64_t ms)
{
    return (pawl_wall){FIXTURE_START.us + ms * 1000};
}

PAWL_TEST(messages_that_were_due_at_once_are_not_timers)
{
    timers *t = timers_on_store();
    pawl_message_spec later = queue_message("t", "in a transaction");

    fixture_send(t->f, "t", "ordinary");
    timers_after(t, "t", "timer", MINUTE_MS);
    later.delay_ms = 2 * MINUTE_MS;
    assert_ok(pawl_tx_enqueue(fixture_tx_begin(t->f, 0), &later, NULL, NULL), NULL);
    fixture_tx_commit(t->f, 0);
    queue_send_after(t->f, "t", "sent", 3 * MINUTE_MS);
    assert_string_equal("timer in a transaction sent", timers_pending(t, NULL));
    assert_int_equal(3, timers_count(t, NULL));
    assert_int_equal(3, fixture_count(t->f, "SELECT count(*) FROM {timer}"));
}

PAWL_TEST(a_run_that_a_worker_has_begun_is_neither_pending_nor_cancelled)
{
    timers *t = timers_on_store();
    pawl_owner owner = queue_owner(1);
    pawl_enqueued sent = timers_after(t, "t", "x", MINUTE_MS);
    pawl_messages *list;

    fixture_advance(t->f, MINUTE_MS);
    list = fixture_claim(t->f, owner, HOUR_MS, 1);
    assert_string_equal("", timers_pending(t, NULL));
    assert_int_equal(0, timers_count(t, NULL));
    assert_int_equal(0, timers_cancel(t, sent.message_id));
    assert_int_equal(PAWL_STATE_RUNNING, timers_state(t, sent.message_id));
    assert_int_equal(1, queue_abandon(t->f, owner, list, "not now", 10 * MINUTE_MS));
    assert_string_equal("x", timers_pending(t, NULL)); /* by its next attempt */
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;
    query.due_before = start_plus(11 * MINUTE_MS);
    assert_int_equal(0, timers_count(t, &query));
    query.due_before.us++;
    assert_int_equal(1, timers_count(t, &query));
    assert_int_equal(1, timers_cancel(t, sent.message_id));
    assert_int_equal(PAWL_STATE_CANCELLED, timers_state(t, sent.message_id));
    queue_check(t->f);
}

PAWL_TEST(a_cancelled_timer_is_counted_and_can_be_retried)
{
    timers *t = timers_on_store();
    pawl_enqueued sent = timers_after(t, "t", "x", MINUTE_MS);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;

    assert_int_equal(1, timers_cancel(t, sent.message_id));
    assert_ok(pawl_outbox_get_stats(t->store, &stats, &err), &err);
    assert_int_equal(1, pawl_outbox_stats_at(stats, 0)->total_cancelled);
    assert_int_equal(0, pawl_outbox_stats_at(stats, 0)->ready);
    pawl_outbox_stats_free(stats);
    assert_int_equal(1, queue_retry(t->f, sent.work_id));
    assert_string_equal("x", timers_deliver(t, 1));
    queue_check(t->f);
}

PAWL_TEST(due_timers_of_a_store_are_claimed_and_not_taken)
{
    timers *t = timers_on_store();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_status(PAWL_E_UNSUPPORTED, pawl_timer_take_due(t->scheduler, 1, &list, &err), &err);
    assert_says(&err, "pawl_queue_claim");
    assert_null(list);
}

PAWL_TEST(every_way_of_sending_returns_the_due_time)
{
    timers *t = timers_on_store();
    pawl_message_spec batch[] = {queue_message("t", "plain"), queue_message("t", "later")};
    pawl_enqueued answers[2];
    pawl_error err = PAWL_ERROR_INIT;

    assert_time(FIXTURE_START.us, queue_send(t->f, &batch[0]).due_at);
    batch[1].delay_ms = MINUTE_MS;
    for (int known = 0; known < 2; known++) { /* ids that are made, and ids that are brought */
        for (int i = 0; i < 2 && known; i++)
            batch[i].id = queue_id(i + 1);
        assert_ok(pawl_outbox_enqueue_batch(t->store, batch, 2, answers, &err), &err);
        assert_time(FIXTURE_START.us, answers[0].due_at);
        assert_time(start_plus(MINUTE_MS).us, answers[1].due_at);
    }
    fixture_advance(t->f, HOUR_MS);
    assert_ok(pawl_outbox_enqueue_batch(t->store, batch, 2, answers, &err), &err);
    assert_true(answers[0].existed && answers[1].existed);
    assert_time(FIXTURE_START.us, answers[0].due_at);
    assert_time(start_plus(MINUTE_MS).us, answers[1].due_at);
    batch[0].id = batch[1].id = (pawl_uuid){{0}};
    pawl_tx *tx = fixture_tx_begin(t->f, 0);
    assert_ok(pawl_tx_enqueue_batch(tx, batch, 2, answers, &err), &err);
    assert_time(start_plus(HOUR_MS + MINUTE_MS).us, answers[1].due_at);
    fixture_tx_commit(t->f, 0);
}

static void send_many(timers *t, const char *topic, int count, int64_t delay_ms)
{
    pawl_message_spec *messages = test_malloc((size_t)count * sizeof *messages);
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < count; i++) {
        messages[i] = queue_message(topic, "x");
        messages[i].delay_ms = delay_ms;
    }
    assert_ok(pawl_timer_schedule_batch(t->scheduler, messages, (size_t)count, NULL, &err), &err);
    test_free(messages);
}

PAWL_TEST(a_timer_behind_many_messages_is_reached_page_by_page)
{
    timers *t = timers_on_store();
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_timer_total total;
    size_t found = 0;
    int pages = 0;

    send_many(t, "t", 10000, 0);
    timers_after(t, "t", "rare", MINUTE_MS);
    do {
        pawl_messages *list = NULL;

        assert_ok(pawl_timer_list(t->scheduler, &query, &list, &query.after, &err), &err);
        found += pawl_messages_count(queue_keep(list));
        pages++;
    } while (!PAWL_PAGE_IS_NONE(query.after));
    assert_int_equal(1, found);
    assert_in_range(pages, 2, 3);
    assert_ok(pawl_timer_count(t->scheduler, NULL, &total, &err), &err);
    assert_true(total.is_at_least); /* it scanned ten thousand, and stopped */
    query = (pawl_timer_filter)PAWL_TIMER_FILTER_INIT;
    query.due_from = start_plus(1); /* past what is due at once: nothing to scan before it */
    assert_int_equal(1, timers_count(t, &query));
    assert_string_equal("rare", timers_pending(t, &query));
}

PAWL_TEST(counting_is_exact_below_ten_thousand)
{
    timers *t = timers_on_store();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_timer_total total;

    send_many(t, "t", 9999, MINUTE_MS);
    assert_int_equal(9999, timers_count(t, NULL));
    timers_after(t, "t", "one more", MINUTE_MS);
    assert_ok(pawl_timer_count(t->scheduler, NULL, &total, &err), &err);
    assert_true(total.is_at_least);
    assert_int_equal(10000, total.count);
}

PAWL_TEST(a_strategy_must_be_whole)
{
    pawl_strategy strategy = {.version = PAWL_STRATEGY_VERSION, .name = "half"};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_scheduler *scheduler = NULL;

    assert_status(PAWL_E_INVALID, pawl_scheduler_new(&strategy, NULL, &scheduler, &err), &err);
    strategy.version++;
    assert_status(PAWL_E_INVALID, pawl_scheduler_new(&strategy, NULL, &scheduler, &err), &err);
    assert_says(&err, "version");
    assert_status(PAWL_E_INVALID, pawl_scheduler_new(NULL, NULL, &scheduler, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_scheduler_new_on_store(NULL, &scheduler, &err), &err);
    assert_null(scheduler);
    pawl_scheduler_free(NULL);
}

PAWL_TEST(memory_keeps_the_configured_number_of_finished_timers)
{
    pawl_scheduler_memory_options options = PAWL_SCHEDULER_MEMORY_OPTIONS_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_error err = PAWL_ERROR_INIT;
    pawl_scheduler *scheduler = NULL;
    pawl_messages *list = NULL;

    options.keep_finished = 1;
    assert_ok(pawl_scheduler_new_in_memory(&options, &scheduler, &err), &err);
    for (int i = 1; i <= 3; i++) {
        message.id = queue_id(i);
        assert_ok(pawl_timer_schedule(scheduler, &message, NULL, &err), &err);
    }
    assert_ok(pawl_timer_take_due(scheduler, 10, &list, &err), &err);
    assert_int_equal(3, pawl_messages_count(queue_keep(list)));
    list = NULL;
    assert_status(PAWL_E_NOT_FOUND, pawl_timer_get(scheduler, queue_id(2), &list, &err), &err);
    assert_ok(pawl_timer_get(scheduler, queue_id(3), &list, &err), &err);
    queue_keep(list);
    pawl_scheduler_free(scheduler);
}

PAWL_TEST_ON(postgres, sql_schedules_lists_and_cancels_as_well)
{
    timers *t = timers_on_store();
    fixture *f = t->f;

    assert_int_equal(start_plus(MINUTE_MS).us,
                     fixture_count(f, "SELECT {us:due} FROM {schedule}('t', 'text', delay =>"
                                      " interval '1 minute')"));
    assert_int_equal(start_plus(HOUR_MS).us,
                     fixture_count(f,
                                   "SELECT {us:due} FROM {schedule}('t', '{\"a\": 1}'::jsonb,"
                                   " {at:%lld}, message_id =>"
                                   " 'aaaaaaaa-0000-4000-8000-000000000001')",
                                   (long long)start_plus(HOUR_MS).us));
    /* The same id again: the first time stays. */
    assert_int_equal(start_plus(HOUR_MS).us,
                     fixture_count(f, "SELECT {us:due} FROM {schedule}('t', '{\"a\": 1}'::jsonb,"
                                      " message_id => 'aaaaaaaa-0000-4000-8000-000000000001')"));
    fixture_exec(f, "SELECT {schedule}('other', 'x'::bytea, delay => interval '1 second')");
    assert_string_equal("x text {\"a\": 1}", timers_pending(t, NULL));
    assert_string_equal("other t t",
                        fixture_text(f, "SELECT string_agg(topic, ' ') FROM {pending}()"));
    assert_int_equal(1, fixture_count(f,
                                      "SELECT count(*) FROM {pending}(topic => 't', due_from =>"
                                      " {at:%lld})",
                                      (long long)start_plus(HOUR_MS).us));
    assert_int_equal(2, fixture_count(f, "SELECT n FROM {timer_count}(topic => 't')"));
    assert_int_equal(1, fixture_count(f, "SELECT {unschedule}(ARRAY['aaaaaaaa-0000-4000-8000-"
                                         "000000000001'::uuid, gen_random_uuid()])"));
    assert_string_equal("x text", timers_pending(t, NULL));
}
