/* src/base/log_test.c - passing log records to a sink. */
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "test.h"

static char seen[1024];
static char keys[4096];
static size_t fields;
static int records;

static void log_keep(void *context, const pawl_log_record *record)
{
    (void)context;
    records++;
    fields = record->field_count;
    snprintf(seen, sizeof seen, "%s: %s", record->area, record->message);
    snprintf(keys, sizeof keys, "%s", "");
    for (size_t i = 0; i < record->field_count; i++) {
        const pawl_log_field *field = &record->fields[i];
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s=%s%s;", field->name,
                 field->is_number ? "#" : "", field->value);
    }
    assert_int_equal(sizeof *record, record->size);
}

PAWL_TEST(without_a_sink_nothing_happens)
{
    pawl_log_sink silent = {0};

    pawli_log(&silent, PAWL_LOG_ERROR, "x", "{error}", pawli_logged("error", "y"));
}

PAWL_TEST(levels_below_the_sinks_are_dropped)
{
    pawl_log_sink sink = {log_keep, NULL, PAWL_LOG_WARNING};

    records = 0;
    pawli_log(&sink, PAWL_LOG_INFO, "outbox", "no {n}", pawli_logged_number("n", 1));
    assert_int_equal(records, 0);
    pawli_log(&sink, PAWL_LOG_ERROR, "outbox", "yes {n}", pawli_logged_number("n", 1));
    assert_int_equal(records, 1);
    assert_string_equal(seen, "outbox: yes 1");
}

PAWL_TEST(a_record_is_one_line_for_any_content)
{
    pawl_log_sink sink = {log_keep, NULL, PAWL_LOG_DEBUG};

    pawli_log(&sink, PAWL_LOG_INFO, "outbox", "topic {topic}",
              pawli_logged("topic", "a\nfake: record\r\x1b[31m"));
    assert_null(strpbrk(seen, "\n\r\x1b"));
}

PAWL_TEST(a_record_without_fields_has_none)
{
    pawl_log_sink sink = {log_keep, NULL, PAWL_LOG_DEBUG};

    pawli_log_record(&sink, PAWL_LOG_INFO, "outbox", NULL, "x");
    assert_int_equal(0, fields);
}

PAWL_TEST(the_message_is_made_from_the_fields)
{
    pawl_log_sink sink = {log_keep, NULL, PAWL_LOG_DEBUG};
    pawl_uuid id = {{0x01, 0x02}};
    pawli_log_fields with = {0};

    pawli_log_id(&with, "message_id", id);
    pawli_log_text(&with, "topic", "a\nb");
    pawli_log_text(&with, "destination", NULL);
    pawli_log_number(&with, "attempt", 2);
    pawli_log_number(&with, "duration_ms", INT64_MIN);
    pawli_log_record(&sink, PAWL_LOG_INFO, "worker", &with,
                     "{topic}: attempt {attempt} of {message_id}");
    assert_string_equal("worker: a b: attempt 2 of 01020000-0000-0000-0000-000000000000", seen);
    assert_string_equal("message_id=01020000-0000-0000-0000-000000000000;topic=a\nb;attempt=#2;"
                        "duration_ms=#-9223372036854775808;",
                        keys);
}

PAWL_TEST(fields_are_given_in_the_call)
{
    pawl_log_sink sink = {log_keep, NULL, PAWL_LOG_DEBUG};
    pawl_uuid id = {{0x01, 0x02}};

    pawli_log(&sink, PAWL_LOG_INFO, "outbox", "{message_id} after {attempt} attempts",
              pawli_logged_id("message_id", id), pawli_logged("topic", "t"),
              pawli_logged("destination", NULL), pawli_logged_number("attempt", 3));
    assert_string_equal("outbox: 01020000-0000-0000-0000-000000000000 after 3 attempts", seen);
    assert_string_equal("message_id=01020000-0000-0000-0000-000000000000;topic=t;attempt=#3;",
                        keys);
}

PAWL_TEST(a_long_value_leaves_room_for_the_last_one)
{
    pawl_log_sink sink = {log_keep, NULL, PAWL_LOG_DEBUG};
    char topic[1021], error[1025];
    pawli_log_fields with = {0};

    memset(topic, 't', sizeof topic - 1);
    memset(error, 'e', sizeof error - 1);
    topic[sizeof topic - 1] = error[sizeof error - 1] = 0;
    pawli_log_text(&with, "topic", topic);
    pawli_log_text(&with, "error", error);
    pawli_log_record(&sink, PAWL_LOG_INFO, "w", &with, "{topic}: {error}");
    assert_int_equal(3 + 767, strlen(seen));
    assert_int_equal(255, strspn(seen + 3, "t"));
    assert_int_equal(sizeof topic + sizeof error - 2 + strlen("topic=;error=;"), strlen(keys));
}

PAWL_TEST(a_record_with_fields_is_dropped_below_the_sinks_level)
{
    pawl_log_sink sink = {log_keep, NULL, PAWL_LOG_WARNING};
    pawli_log_fields none = {0};

    records = 0;
    pawli_log_record(&sink, PAWL_LOG_INFO, "w", &none, "no");
    assert_int_equal(records, 0);
    assert_false(pawli_log_enabled(&sink, PAWL_LOG_INFO));
    assert_true(pawli_log_enabled(&sink, PAWL_LOG_WARNING));
}
