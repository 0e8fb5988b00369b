/* tests/conformance/changed_items_test.c - operations on claimed messages say which they changed,
 * in one op. */
#include "queue_fixture.h"

#include <string.h>

#include <pawl/dead.h>

#include "finish.h"
#include "op_counter.h"

#define ITEMS_MAX 300

/* The operations, all with the same arguments. */
typedef pawl_status (*finish_fn)(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                 size_t count, pawli_changed ret, pawl_error *err);

static pawl_status finish_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                  size_t count, pawli_changed ret, pawl_error *err)
{
    return pawli_queue_abandon(store, owner, items, count, "busy", PAWL_DELAY_BY_POLICY, ret, err);
}

static pawl_status finish_fail(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                               size_t count, pawli_changed ret, pawl_error *err)
{
    return pawli_queue_fail(store, owner, items, count, "bad", ret, err);
}

static pawl_status finish_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                size_t count, pawli_changed ret, pawl_error *err)
{
    return pawli_queue_renew(store, owner, items, count, MINUTE_MS, ret, err);
}

static pawl_status finish_renew_each(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                     size_t count, pawli_changed ret, pawl_error *err)
{
    return pawl_queue_renew_each(store, owner, items, count, MINUTE_MS, ret.each, ret.count, err);
}

static pawl_status finish_ack_and_claim(pawl_store *store, pawl_owner owner,
                                        const pawl_receipt *items, size_t count, pawli_changed ret,
                                        pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st =
        pawli_queue_ack_and_claim(store, owner, items, count, MINUTE_MS, 1, NULL, ret, &list, err);

    pawl_messages_free(list);
    return st;
}

static pawl_status finish_dead_abandon(pawl_store *store, pawl_owner owner,
                                       const pawl_receipt *items, size_t count, pawli_changed ret,
                                       pawl_error *err)
{
    return pawli_dead_abandon(store, owner, items, count, "busy", PAWL_DELAY_BY_POLICY, ret, err);
}

static pawl_status finish_dead_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                     size_t count, pawli_changed ret, pawl_error *err)
{
    return pawli_dead_renew(store, owner, items, count, MINUTE_MS, ret, err);
}

static const struct {
    const char *name;
    finish_fn run;
    bool dead;
} operations[] = {
    {"ack", pawli_queue_ack, false},
    {"abandon", finish_abandon, false},
    {"fail", finish_fail, false},
    {"release", pawli_queue_release, false},
    {"renew", finish_renew, false},
    {"renew_each", finish_renew_each, false},
    {"ack_and_claim", finish_ack_and_claim, false},
    {"dead_done", pawli_dead_done, true},
    {"dead_abandon", finish_dead_abandon, true},
    {"dead_renew", finish_dead_renew, true},
};

static pawl_messages *claim_dead(fixture *f, pawl_owner owner, int64_t lease_ms, int count)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_ok(pawl_dead_claim(fixture_store(f), owner, lease_ms, count, NULL, &list, &err), &err);
    assert_int_equal(count, pawl_messages_count(list));
    return queue_keep(list);
}

/* `count` new messages or dead letters that this owner has claimed, in one claim. */
static pawl_messages *claim_new(fixture *f, bool dead, pawl_owner owner, int64_t lease_ms,
                                int count)
{
    pawl_messages *list;

    for (int i = 0; i < count; i++)
        fixture_send(f, "t", "x");
    list = fixture_claim(f, owner, lease_ms, count);
    assert_int_equal(count, pawl_messages_count(list));
    if (!dead)
        return list;
    assert_int_equal(count, queue_fail(f, owner, list, "failed"));
    return claim_dead(f, owner, lease_ms, count);
}

/* The lease expires, and the same owner claims the message again. */
static pawl_messages *claim_late(fixture *f, bool dead, pawl_owner owner)
{
    fixture_advance(f, 2 * SECOND_MS);
    if (dead)
        return claim_dead(f, owner, HOUR_MS, 1);
    assert_int_equal(1, queue_reap(f));
    return fixture_claim(f, owner, HOUR_MS, 1);
}

/* What the operation says, a character per item; the number, and that it was one op, are checked.
 */
static const char *changed_by(fixture *f, size_t operation, pawl_owner owner,
                              const pawl_receipt *items, size_t count, size_t expected)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool each[ITEMS_MAX] = {false};
    char text[ITEMS_MAX + 1];
    size_t changed = 99999;

    op_counter_start(fixture_store(f));
    assert_ok(operations[operation].run(fixture_store(f), owner, items, count,
                                        (pawli_changed){&changed, each}, &err),
              &err);
    if (count > 0 && operations[operation].run != finish_ack_and_claim)
        assert_int_equal(1, op_counter_total());
    if (count == 0 && operations[operation].run != finish_ack_and_claim)
        assert_int_equal(0, op_counter_total());
    assert_int_equal(expected, changed);
    for (size_t i = 0; i < count; i++)
        text[i] = each[i] ? '1' : '0';
    text[count] = '\0';
    queue_check(f);
    return test_note("%s: %s", operations[operation].name, text);
}

static const char *expected_of(size_t operation, const char *text)
{
    return test_note("%s: %s", operations[operation].name, text);
}

static fixture *open_with_dead_letters(void)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_topic_dead_letters(fixture_store(f), NULL, true, &err), &err);
    return f;
}

PAWL_TEST(all_or_none_of_the_items_are_changed)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        fixture *f = open_with_dead_letters();
        pawl_messages *list = claim_new(f, operations[i].dead, queue_owner(1), HOUR_MS, 3);
        const pawl_receipt *items = queue_receipts(list);

        assert_string_equal(expected_of(i, "000"), changed_by(f, i, queue_owner(2), items, 3, 0));
        assert_string_equal(expected_of(i, ""), changed_by(f, i, queue_owner(1), items, 0, 0));
        assert_string_equal(expected_of(i, "111"), changed_by(f, i, queue_owner(1), items, 3, 3));
        fixture_close(f);
    }
}

PAWL_TEST(items_of_other_owners_unknown_items_and_old_fences_are_distinguished)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        fixture *f = open_with_dead_letters();
        pawl_owner worker = queue_owner(1);
        bool dead = operations[i].dead;
        pawl_messages *stale = claim_new(f, dead, worker, SECOND_MS, 1);
        pawl_messages *again = claim_late(f, dead, worker);
        pawl_messages *mine = claim_new(f, dead, worker, HOUR_MS, 2);
        pawl_messages *others = claim_new(f, dead, queue_owner(2), HOUR_MS, 1);
        pawl_receipt later = fixture_receipt(mine, 1);

        later.fence++;
        pawl_receipt items[] = {
            fixture_receipt(mine, 1), fixture_receipt(again, 0), fixture_receipt(others, 0),
            {{1000000}, 1},           fixture_receipt(stale, 0), later,
            fixture_receipt(mine, 0), fixture_receipt(mine, 1), /* once more */
        };
        assert_string_equal(expected_of(i, "11000011"),
                            changed_by(f, i, worker, items, COUNT_OF(items), 3));
        fixture_close(f);
    }
}

PAWL_TEST(the_result_of_each_of_many_unsorted_items_is_returned)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        fixture *f = open_with_dead_letters();
        pawl_messages *list = claim_new(f, operations[i].dead, queue_owner(1), HOUR_MS, 100);
        pawl_messages *others = claim_new(f, operations[i].dead, queue_owner(2), HOUR_MS, 50);
        pawl_receipt items[ITEMS_MAX];
        char expected[ITEMS_MAX + 1] = "";

        for (size_t k = 0; k < 150; k++) {
            items[k] = k % 3 == 1 ? fixture_receipt(others, k / 3)
                                  : fixture_receipt(list, 99 - (k - (k + 1) / 3));
            expected[k] = k % 3 == 1 ? '0' : '1';
        }
        assert_string_equal(expected_of(i, expected),
                            changed_by(f, i, queue_owner(1), items, 150, 100));
        fixture_close(f);
    }
}

PAWL_TEST(a_result_that_is_repeated_changes_nothing)
{
    fixture *f = open_with_dead_letters();
    pawl_messages *list = claim_new(f, false, queue_owner(1), HOUR_MS, 4);
    const pawl_receipt *items = queue_receipts(list);

    assert_string_equal("ack: 11", changed_by(f, 0, queue_owner(1), items, 2, 2));
    assert_string_equal("ack: 0011", changed_by(f, 0, queue_owner(1), items, 4, 2));
    assert_string_equal("ack: 0000", changed_by(f, 0, queue_owner(1), items, 4, 0));
}

/* The repeated claim after a reap does not send the acknowledgements again. */
PAWL_TEST(acknowledgements_are_distinguished_although_the_claim_is_repeated)
{
    fixture *f = fixture_open(NULL);
    pawl_owner worker = queue_owner(1);
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *expired = claim_new(f, false, queue_owner(2), SECOND_MS, 1);
    pawl_messages *mine = claim_new(f, false, worker, HOUR_MS, 2), *next = NULL;
    pawl_receipt items[] = {fixture_receipt(mine, 0), fixture_receipt(expired, 0),
                            fixture_receipt(mine, 1)};
    bool each[3] = {false, true, false};
    size_t acked = 0;

    options.reap = true;
    fixture_advance(f, 2 * SECOND_MS);
    assert_ok(pawli_queue_ack_and_claim(fixture_store(f), worker, items, 3, MINUTE_MS, 5, &options,
                                        (pawli_changed){&acked, each}, &next, &err),
              &err);
    queue_keep(next);
    assert_int_equal(2, acked);
    assert_true(each[0] && !each[1] && each[2]);
    assert_int_equal(1, pawl_messages_count(next));
}

PAWL_TEST(nothing_is_said_of_a_call_that_fails)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_owner no_owner = {{0}};
    pawl_messages *list = claim_new(f, false, queue_owner(1), HOUR_MS, 1);
    bool each[1] = {true};
    size_t changed = 7;

    for (size_t i = 0; i < COUNT_OF(operations); i++)
        assert_int_equal(PAWL_E_INVALID,
                         operations[i].run(fixture_store(f), no_owner, queue_receipts(list), 1,
                                           (pawli_changed){&changed, each}, &err));
    assert_int_equal(7, changed);
    assert_true(each[0]);
}
