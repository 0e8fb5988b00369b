/*
 * tests/conformance/keys_test.c - the ordering key, the unique key and the tags of a message are
 * stored and shown, and have no other effect.
 */
#include "bounds.h"

#include "timer_fixture.h"

#include <string.h>

static const char *const tags[] = {
    "urgent", "a \"quoted\" \\ tag", "line\nbreak", "Ünïcode ☃", "NULL", "{a,b}"};

static pawl_message_spec keyed(void)
{
    pawl_message_spec message = queue_message("t", "x");

    message.ordering_key = "customer 'Ω' 17";
    message.unique_key = "invoice-4711";
    message.tags = tags;
    message.tag_count = COUNT_OF(tags);
    return message;
}

static void assert_keyed(const pawl_message *m)
{
    assert_string_equal("customer 'Ω' 17", pawl_message_ordering_key(m));
    assert_string_equal("invoice-4711", pawl_message_unique_key(m));
    assert_int_equal(COUNT_OF(tags), pawl_message_tag_count(m));
    for (size_t i = 0; i < COUNT_OF(tags); i++)
        assert_string_equal(tags[i], pawl_message_tag(m, i));
    assert_null(pawl_message_tag(m, COUNT_OF(tags)));
}

static void assert_keyless(const pawl_message *m)
{
    assert_null(pawl_message_ordering_key(m));
    assert_null(pawl_message_unique_key(m));
    assert_int_equal(0, pawl_message_tag_count(m));
    assert_null(pawl_message_tag(m, 0));
}

PAWL_TEST(keys_and_tags_come_back_as_given)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec fresh = keyed(), with_id = keyed();

    with_id.id = queue_id(7);
    assert_keyed(queue_get(f, queue_send(f, &fresh).work_id));
    assert_keyed(queue_get(f, queue_send(f, &with_id).work_id));
    assert_keyless(queue_get(f, fixture_send(f, "t", "x")));
}

PAWL_TEST(every_message_of_a_batch_keeps_its_own)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    for (int with_ids = 0; with_ids < 2; with_ids++) {
        pawl_message_spec messages[4];
        pawl_enqueued sent[4];

        for (int i = 0; i < 4; i++) {
            messages[i] = i % 2 ? keyed() : queue_message("t", "x");
            if (with_ids)
                messages[i].id = queue_id(i + 1);
        }
        messages[2].tags = tags;
        messages[2].tag_count = 1;
        assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, 4, sent, &err), &err);
        assert_keyless(queue_get(f, sent[0].work_id));
        assert_keyed(queue_get(f, sent[1].work_id));
        assert_null(pawl_message_ordering_key(queue_get(f, sent[2].work_id)));
        assert_string_equal("urgent", pawl_message_tag(queue_get(f, sent[2].work_id), 0));
        assert_int_equal(1, pawl_message_tag_count(queue_get(f, sent[2].work_id)));
        assert_keyed(queue_get(f, sent[3].work_id));
    }
}

static pawl_work_id take_keyed(fixture *f)
{
    pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);

    assert_int_equal(1, pawl_messages_count(list));
    assert_keyed(pawl_messages_at(list, 0));
    return pawl_message_work_id(pawl_messages_at(list, 0));
}

static pawl_messages *list_all(fixture *f)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_ok(pawl_outbox_list(fixture_store(f), &filter, &list, NULL, &err), &err);
    return queue_keep(list);
}

PAWL_TEST(they_stay_through_claims_retries_and_dead_letters)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = keyed();
    pawl_owner owner = queue_owner(1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    pawl_work_id id;

    queue_send(f, &message);
    id = take_keyed(f);
    assert_ok(pawl_queue_owned(fixture_store(f), owner, &list, &err), &err);
    assert_keyed(pawl_messages_at(queue_keep(list), 0));
    assert_int_equal(1, queue_abandon(f, owner, list, "again", 1));
    fixture_advance(f, SECOND_MS);
    take_keyed(f);
    fixture_advance(f, 2 * MINUTE_MS);
    assert_int_equal(1, queue_reap(f));
    fixture_advance(f, HOUR_MS);
    list = fixture_claim(f, owner, MINUTE_MS, 1);
    assert_int_equal(1, queue_fail(f, owner, list, "for good"));
    assert_keyed(queue_get(f, id));
    assert_keyed(pawl_messages_at(list_all(f), 0));
    assert_int_equal(1, queue_retry(f, id));
    list = fixture_claim(f, owner, MINUTE_MS, 1);
    assert_keyed(pawl_messages_at(list, 0));
    assert_int_equal(1, queue_ack(f, owner, list));
    assert_keyed(queue_get(f, id));
}

PAWL_TEST(they_have_no_effect_yet)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = keyed();
    pawl_messages *list;

    queue_send(f, &message);
    assert_false(queue_send(f, &message).existed); /* the unique key is not enforced */
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 2);
    assert_int_equal(2, pawl_messages_count(list)); /* of one ordering key, at the same time */
}

TIMER_TEST(a_timer_has_them_in_every_strategy)
{
    pawl_message_spec message = keyed();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;

    message.delay_ms = HOUR_MS;
    pawl_enqueued sent = timers_schedule(t, &message);
    assert_ok(pawl_timer_get(t->scheduler, sent.message_id, &one, &err), &err);
    assert_keyed(pawl_messages_at(queue_keep(one), 0));
}

/* The same id with other keys is the same message. */
PAWL_TEST(a_duplicate_keeps_the_keys_of_the_first)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = keyed(), again = queue_message("t", "x");

    again.id = message.id = queue_id(3);
    assert_false(queue_send(f, &message).existed);
    assert_true(queue_send(f, &again).existed);
    assert_keyed(queue_get(f, queue_send(f, &again).work_id));
}

static void refuse(fixture *f, const pawl_message_spec *message, const char *text)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_INVALID, pawl_outbox_enqueue(fixture_store(f), message, NULL, &err), &err);
    assert_says(&err, text);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

static const char *of_length(int count)
{
    char text[1024];

    assert_true((size_t)count < sizeof text);
    memset(text, 'x', (size_t)count);
    text[count] = '\0';
    return test_note("%s", text);
}

PAWL_TEST(keys_and_tags_have_limits)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x"), good = message;
    const char *many[PAWL_TAGS_MAX + 1];

    message.ordering_key = "";
    refuse(f, &message, "the ordering key must not be empty");
    message.ordering_key = of_length(PAWL_ORDERING_KEY_MAX + 1);
    refuse(f, &message, "the ordering key has 256 characters; the maximum is 255");
    message = good;
    message.unique_key = "";
    refuse(f, &message, "the unique key must not be empty");
    message.unique_key = of_length(PAWL_UNIQUE_KEY_MAX + 1);
    refuse(f, &message, "the unique key has 256 characters; the maximum is 255");
    message.unique_key = "\xFF";
    refuse(f, &message, "the unique key is not valid UTF-8");
    message = good;
    message.tag_count = 1;
    refuse(f, &message, "tags must not be NULL");
    message.tags = many;
    many[0] = NULL;
    refuse(f, &message, "a tag must not be NULL");
    many[0] = "";
    refuse(f, &message, "the tag must not be empty");
    many[0] = of_length(PAWL_TAG_MAX + 1);
    refuse(f, &message, "the tag has 65 characters; the maximum is 64");
    for (int i = 0; i <= PAWL_TAGS_MAX; i++)
        many[i] = of_length(PAWL_TAG_MAX);
    message.tag_count = PAWL_TAGS_MAX + 1;
    refuse(f, &message, "the message has 17 tags; the maximum is 16");
    message.tag_count = PAWL_TAGS_MAX;
    message.ordering_key = of_length(PAWL_ORDERING_KEY_MAX);
    message.unique_key = of_length(PAWL_UNIQUE_KEY_MAX);
    const pawl_message *m = queue_get(f, queue_send(f, &message).work_id);
    assert_string_equal(message.ordering_key, pawl_message_ordering_key(m));
    assert_int_equal(PAWL_TAGS_MAX, pawl_message_tag_count(m));
    assert_string_equal(many[15], pawl_message_tag(m, 15));
}

PAWL_TEST(the_views_show_them)
{
    static const char *const views[] = {"message", "outbox", "timer"};
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = keyed();

    message.delay_ms = MINUTE_MS;
    queue_send(f, &message);
    for (size_t i = 0; i < COUNT_OF(views); i++)
        assert_int_equal(1, fixture_count(f,
                                          fixture_is_postgres(f)
                                              ? "SELECT count(*) FROM {%s} WHERE tags[1] = 'urgent'"
                                                " AND unique_key = 'invoice-4711' AND ordering_key"
                                                " LIKE 'customer%%'"
                                              : "SELECT count(*) FROM {%s} WHERE tags ->> 0 ="
                                                " 'urgent' AND unique_key = 'invoice-4711' AND"
                                                " ordering_key LIKE 'customer%%'",
                                          views[i]));
}

PAWL_TEST_ON(postgres, sql_stores_them_within_the_same_limits)
{
    static const char *const bad[] = {
        "ordering_key => ''",
        "ordering_key => repeat('x', 256)",
        "unique_key => ''",
        "unique_key => repeat('x', 256)",
        "tags => array_fill('x'::text, ARRAY[17])",
        "tags => ARRAY['']",
        "tags => ARRAY[repeat('x', 65)]",
        "tags => ARRAY['a', NULL]",
        "tags => ARRAY[['a'], ['b']]",
    };
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_true(fixture_refuses(f, "SELECT {enqueue}('t', 'x', %s)", bad[i]));
        assert_true(fixture_refuses(f, "SELECT {schedule}('t', 'x', %s)", bad[i]));
    }
    fixture_exec(f, "SELECT {enqueue}('t', 'x', ordering_key => repeat('ü', 255), unique_key =>"
                    " repeat('ü', 255), tags => array_fill(repeat('ü', 64), ARRAY[16]))");
    fixture_exec(f, "SELECT {enqueue}('t', '{}'::jsonb, tags => '{}')");
    fixture_exec(f, "SELECT {schedule}('t', '\\x00'::bytea, delay => '1 hour', ordering_key => 'o',"
                    " unique_key => 'u', tags => ARRAY['a', 'b'])");
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {outbox} WHERE cardinality(tags) ="
                                         " 16 AND char_length(unique_key) = 255"));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {outbox} WHERE tags IS NULL"));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {pending}() p WHERE p.tags ="
                                         " ARRAY['a', 'b'] AND p.ordering_key = 'o'"));
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {claim}(gen_random_uuid(),"
                                         " max_rows => 9) c WHERE c.ordering_key IS NOT NULL OR"
                                         " c.unique_key IS NULL"));
}
