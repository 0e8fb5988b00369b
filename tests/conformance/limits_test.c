/* tests/conformance/limits_test.c - the limits of a column are the same on both engines, to the
 * last unit. */
#include "bounds.h"

#include "queue_fixture.h"

/* A job written by hand with one column set; the rest is at its default. */
static bool limits_refused(fixture *f, const char *column, const char *value)
{
    return fixture_refuses(
        f, "INSERT INTO {job} (name, schedule, topic, %s) VALUES ('j', '@daily', 't', %s)", column,
        value);
}

static void assert_bounds(fixture *f, const char *column, const char *least, const char *below,
                          const char *most, const char *above)
{
    if (limits_refused(f, column, least) || limits_refused(f, column, most))
        test_fail("%s: a value within its bounds is refused", column);
    if ((below && !limits_refused(f, column, below)) || !limits_refused(f, column, above))
        test_fail("%s: a value outside its bounds is accepted", column);
}

static const char *number(int64_t value)
{
    return test_note("%lld", (long long)value);
}

static const char *span(const fixture *f, int64_t us)
{
    return fixture_is_postgres(f) ? test_note("interval '%lld microseconds'", (long long)us)
                                  : number(us);
}

PAWL_TEST(spans_of_a_job_have_the_same_bounds)
{
    static const struct {
        const char *column;
        int64_t least_ms, most_ms;
    } spans[] = {
        {"misfire_grace", PAWLI_MISFIRE_GRACE_MIN, PAWLI_MISFIRE_GRACE_MAX},
        {"jitter", PAWLI_JOB_JITTER_MIN, PAWLI_JOB_JITTER_MAX},
        {"ttl", PAWLI_TTL_MIN, PAWLI_TTL_MAX},
        {"timeout", PAWLI_LEASE_MIN, PAWLI_LEASE_MAX},
        {"lease", PAWLI_JOB_LEASE_MIN, PAWLI_JOB_LEASE_MAX},
        {"heartbeat", PAWLI_JOB_HEARTBEAT_MIN, PAWLI_JOB_HEARTBEAT_MAX},
        {"keep_age", PAWLI_TTL_MIN, PAWLI_TTL_MAX},
        {"retry_base", PAWLI_BACKOFF_MIN, PAWLI_BACKOFF_MAX},
        {"retry_jitter", PAWLI_JITTER_MIN, PAWLI_JITTER_MAX},
    };
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(spans); i++)
        assert_bounds(f, spans[i].column, span(f, spans[i].least_ms * 1000),
                      span(f, spans[i].least_ms * 1000 - 1), span(f, spans[i].most_ms * 1000),
                      span(f, spans[i].most_ms * 1000 + 1));
}

PAWL_TEST(numbers_of_a_job_have_the_same_bounds)
{
    static const struct {
        const char *column;
        int64_t least, most;
    } numbers[] = {
        {"type", PAWLI_TYPE_MIN, PAWLI_TYPE_MAX},
        {"priority", PAWLI_PRIORITY_MIN, PAWLI_PRIORITY_MAX},
        {"max_attempts", PAWLI_ATTEMPTS_MIN, PAWLI_ATTEMPTS_MAX},
        {"misfire_cap", PAWLI_MISFIRE_CAP_MIN, PAWLI_MISFIRE_CAP_MAX},
        {"keep_runs", PAWLI_KEEP_RUNS_MIN, PAWLI_KEEP_RUNS_MAX},
    };
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        assert_bounds(f, numbers[i].column, number(numbers[i].least), number(numbers[i].least - 1),
                      number(numbers[i].most), number(numbers[i].most + 1));
}

static const char *text_of(fixture *f, const char *piece, int count)
{
    return fixture_is_postgres(f)
               ? test_note("repeat('%s', %d)", piece, count)
               : test_note("replace(printf('%%.%dc', '-'), '-', '%s')", count, piece);
}

/* Characters, not bytes: the longest is made of the widest. */
PAWL_TEST(texts_of_a_job_have_the_same_bounds)
{
    static const struct {
        const char *column;
        int most;
    } texts[] = {{"zone", PAWLI_SCHEDULE_MAX}, {"correlation_id", PAWLI_CORRELATION_MAX}};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_bounds(f, texts[i].column, "'x'", "''",
                      text_of(f, "\xF0\x9F\x98\x80", texts[i].most),
                      text_of(f, "x", texts[i].most + 1));
    assert_bounds(f, "destination", "'x'", "''", text_of(f, "x", PAWLI_DESTINATION_MAX),
                  text_of(f, "x", PAWLI_DESTINATION_MAX + 1));
    /* Bytes: half as many characters of two. */
    assert_true(
        limits_refused(f, "destination", text_of(f, "\xC3\xBC", PAWLI_DESTINATION_MAX / 2 + 1)));
    assert_false(
        limits_refused(f, "destination", text_of(f, "\xC3\xBC", PAWLI_DESTINATION_MAX / 2)));
}

PAWL_TEST(headers_are_the_same_on_both_engines)
{
    static const char *const bad[] = {"'[]'", "'1'", "'{'", "'{\"a\": \"\\u0000\"}'"};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (!limits_refused(f, "headers", bad[i]))
            test_fail("headers %s are accepted", bad[i]);
    assert_false(limits_refused(f, "headers", "'{\"a\": \"\\\\u0000\"}'"));
}

PAWL_TEST(the_longest_names_are_stored_and_found)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message(NULL, "x");
    pawl_work_id id;

    message.topic = fixture_text(f, "SELECT %s", text_of(f, "\xF0\x9F\x98\x80", PAWLI_TOPIC_MAX));
    message.destination = fixture_text(f, "SELECT %s", text_of(f, "x", PAWLI_DESTINATION_MAX));
    id = queue_send(f, &message).work_id;
    assert_string_equal(message.topic, pawl_message_topic(queue_get(f, id)));
    assert_int_equal(1, pawl_messages_count(
                            queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, message.destination)));
}

/* Too early, and too late: both engines say so, and neither says it of the times in between. */
PAWL_TEST(times_have_the_same_bounds)
{
    static const int64_t good[] = {INT64_C(1000) * PAWLI_TIME_MIN,
                                   INT64_C(1000) * PAWLI_TIME_MAX + 999};
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < 2; i++) {
        pawl_message_spec message = queue_message("t", "x");
        pawl_work_id id;

        message.due_at.us = good[i];
        id = queue_send(f, &message).work_id;
        assert_time(good[i], pawl_message_due_at(queue_get(f, id)));
        message.due_at.us = i == 0 ? good[i] - 1 : good[i] + 1;
        assert_status(PAWL_E_INVALID, pawl_outbox_enqueue(fixture_store(f), &message, NULL, &err),
                      &err);
        assert_says(&err, "due_at");
    }
}
