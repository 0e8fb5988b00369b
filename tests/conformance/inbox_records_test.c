/* tests/conformance/inbox_records_test.c - managing the inbox: lists, counts, dead records. */
#include <stdio.h>
#include <string.h>

#include "inbox_fixture.h"

#define BIT(state) (1u << (state))

static void free_records(void *records)
{
    pawl_inbox_records_free(records);
}

/* The ids of a page, with a space between. */
static const char *ids(fixture *f, const pawl_inbox_filter *filter, pawl_page *ret_next)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_records *list = NULL;
    char text[512] = "";
    size_t used = 0;

    assert_ok(pawl_inbox_list(fixture_store(f), filter, &list, ret_next, &err), &err);
    test_defer(free_records, list);
    for (size_t i = 0; i < pawl_inbox_records_count(list); i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
                                 pawl_inbox_records_at(list, i)->id);
    assert_null(pawl_inbox_records_at(list, pawl_inbox_records_count(list)));
    return test_note("%s", text);
}

static pawl_inbox_stats stats(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_stats found = PAWL_INBOX_STATS_INIT;

    assert_ok(pawl_inbox_get_stats(fixture_store(f), &found, &err), &err);
    return found;
}

static void kill_one(fixture *f, const char *source, const char *id)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_inbox_mark_processing(fixture_store(f), source, id, &err), &err);
    assert_ok(pawl_inbox_mark_dead(fixture_store(f), source, id, "broken", &err), &err);
}

/* One of each: done, dead, seen, processing. */
static fixture *with_all_states(void)
{
    fixture *f = inbox_fixture(NULL);

    inbox_done(inbox_begin(f, "done", NULL), "r");
    kill_one(f, "shop", "dead");
    inbox_fail(inbox_call(f, "seen", NULL), "later");
    (void)inbox_call(f, "processing", NULL);
    return f;
}

PAWL_TEST(a_list_is_newest_first_and_filtered)
{
    fixture *f = with_all_states();
    pawl_inbox_filter filter = PAWL_INBOX_FILTER_INIT;
    pawl_page next = {"99"};

    assert_string_equal("processing seen dead done", ids(f, NULL, &next));
    assert_true(PAWL_PAGE_IS_NONE(next));
    filter.states = BIT(PAWL_INBOX_DEAD);
    assert_string_equal("dead", ids(f, &filter, NULL));
    filter.states = BIT(PAWL_INBOX_SEEN);
    assert_string_equal("seen", ids(f, &filter, NULL));
    filter.states = BIT(PAWL_INBOX_DONE) | BIT(PAWL_INBOX_PROCESSING);
    assert_string_equal("processing done", ids(f, &filter, NULL));
    filter.states = 0;
    filter.source = "else";
    assert_string_equal("", ids(f, &filter, NULL));
    kill_one(f, "else", "other");
    assert_string_equal("other", ids(f, &filter, NULL));
}

PAWL_TEST(pages_follow_each_other)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_filter filter = PAWL_INBOX_FILTER_INIT;

    for (int i = 1; i <= 7; i++)
        inbox_done(inbox_begin(f, test_note("%d", i), NULL), NULL);
    filter.limit = 3;
    assert_string_equal("7 6 5", ids(f, &filter, &filter.after));
    assert_string_equal("4 3 2", ids(f, &filter, &filter.after));
    inbox_done(inbox_begin(f, "8", NULL), NULL);
    assert_string_equal("1", ids(f, &filter, &filter.after));
    assert_true(PAWL_PAGE_IS_NONE(filter.after));
}

PAWL_TEST(counts_show_stuck_deliveries)
{
    fixture *f = with_all_states();
    pawl_inbox_stats found = stats(f);

    assert_int_equal(1, found.seen);
    assert_int_equal(1, found.processing);
    assert_int_equal(0, found.stuck);
    assert_int_equal(1, found.done);
    assert_int_equal(1, found.dead);
    fixture_advance(f, 30 * SECOND_MS);
    assert_int_equal(1, stats(f).stuck);
}

PAWL_TEST(retried_dead_ones_get_all_their_attempts_again)
{
    fixture *f = with_all_states();
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 99;

    kill_one(f, "else", "dead");
    assert_ok(pawl_inbox_retry(fixture_store(f), "shop", "seen", &changed, &err), &err);
    assert_int_equal(0, changed);
    assert_ok(pawl_inbox_retry(fixture_store(f), "shop", "dead", &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(PAWL_INBOX_SEEN, inbox_record(f, "dead")->state);
    assert_int_equal(0, inbox_record(f, "dead")->attempts);
    assert_string_equal("broken", inbox_record(f, "dead")->error);
    pawl_inbox_task *arrival = inbox_begin(f, "dead", NULL);
    assert_answer(PAWL_INBOX_NEW, arrival);
    assert_int_equal(1, pawl_inbox_task_attempt(arrival));
    inbox_done(arrival, NULL);
    assert_ok(pawl_inbox_retry(fixture_store(f), NULL, NULL, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(0, stats(f).dead);
}

PAWL_TEST(purged_dead_deliveries_are_removed)
{
    fixture *f = with_all_states();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_records *one = NULL;
    size_t changed = 99;

    kill_one(f, "else", "dead");
    assert_ok(pawl_inbox_purge(fixture_store(f), "shop", NULL, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_status(PAWL_E_NOT_FOUND, pawl_inbox_get(fixture_store(f), "shop", "dead", &one, &err),
                  &err);
    assert_null(one);
    assert_int_equal(1, stats(f).dead);
    assert_answer(PAWL_INBOX_NEW, inbox_call(f, "dead", NULL));
    assert_ok(pawl_inbox_purge(fixture_store(f), NULL, NULL, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(4, fixture_count(f, "SELECT count(*) FROM {inbox_record}"));
}

/* More than one transaction's worth. */
PAWL_TEST(a_thousand_and_more_are_changed_in_one_call)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    fixture_exec(f,
                 "INSERT INTO {inbox_record} (source, id, state, first_seen, last_seen)"
                 " SELECT 'shop', %s, 3, {at:0}, {at:0} FROM %s",
                 fixture_is_postgres(f) ? "i::text" : "CAST(i AS TEXT)",
                 fixture_is_postgres(f)
                     ? "generate_series(1, 2100) AS i"
                     : "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                       " WHERE i < 2100) SELECT i FROM n)");
    assert_ok(pawl_inbox_retry(fixture_store(f), NULL, NULL, &changed, &err), &err);
    assert_int_equal(2100, changed);
    assert_int_equal(2100, stats(f).seen);
    fixture_advance(f, 2 * DAY_MS);
    assert_int_equal(1000, inbox_clean(f));
    assert_int_equal(1000, inbox_clean(f));
    assert_int_equal(100, inbox_clean(f));
    assert_int_equal(0, inbox_clean(f));
}

PAWL_TEST(the_view_shows_readable_values)
{
    fixture *f = with_all_states();

    assert_string_equal("done",
                        fixture_text(f, "SELECT status FROM {inbox} WHERE message_id = 'done'"));
    assert_string_equal("dead",
                        fixture_text(f, "SELECT status FROM {inbox} WHERE message_id = 'dead'"));
    assert_string_equal("seen",
                        fixture_text(f, "SELECT status FROM {inbox} WHERE message_id = 'seen'"));
    assert_string_equal("processing", fixture_text(f, "SELECT status FROM {inbox}"
                                                      " WHERE message_id = 'processing'"));
    assert_int_equal(1, fixture_count(f, "SELECT attempts FROM {inbox} WHERE source = 'shop'"
                                         " AND message_id = 'done' AND processed_utc IS NOT NULL"
                                         " AND first_seen_utc = last_seen_utc"));
}

PAWL_TEST(the_tables_refuse_impossible_rows)
{
    fixture *f = with_all_states();

    assert_true(fixture_refuses(f, "UPDATE {inbox_record} SET state = 4"));
    assert_true(fixture_refuses(f, "UPDATE {inbox_record} SET processed_at = NULL"));
    assert_true(fixture_refuses(f, "UPDATE {inbox_record} SET expires_at = NULL"));
    assert_true(fixture_refuses(f, "UPDATE {inbox_record} SET id = 'same'"));
}

PAWL_TEST(bad_arguments_are_refused)
{
    fixture *f = inbox_fixture(NULL);
    pawl_store *store = fixture_store(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_filter bad = PAWL_INBOX_FILTER_INIT;
    pawl_inbox_records *list = NULL;
    pawl_inbox_stats found = PAWL_INBOX_STATS_INIT;

    assert_status(PAWL_E_INVALID, pawl_inbox_get(NULL, "a", "b", &list, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_get(store, "a", "", &list, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_list(NULL, NULL, &list, NULL, &err), &err);
    bad.states = 16;
    assert_status(PAWL_E_INVALID, pawl_inbox_list(store, &bad, &list, NULL, &err), &err);
    bad.states = 0;
    bad.limit = 10001;
    assert_status(PAWL_E_INVALID, pawl_inbox_list(store, &bad, &list, NULL, &err), &err);
    bad.limit = 0;
    bad.after = (pawl_page){"-1"};
    assert_status(PAWL_E_INVALID, pawl_inbox_list(store, &bad, &list, NULL, &err), &err);
    assert_null(list);
    assert_status(PAWL_E_INVALID, pawl_inbox_retry(NULL, NULL, NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_purge(store, "", NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_clean(NULL, NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_get_stats(NULL, &found, &err), &err);
    assert_string_equal("unknown", pawl_inbox_state_name((pawl_inbox_state)9));
}
