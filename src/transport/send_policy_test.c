/* src/transport/send_policy_test.c - which sends count as attempts. */
#include "send_policy.h"

#include "test.h"

static const pawli_send_facts usual = {.breaker_was_closed = true, .count = PAWL_COUNT_ANSWERED};

static pawl_send_report send_policy_answer(int status)
{
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;

    outcome.reached = true;
    outcome.sent_whole = true;
    outcome.status = status;
    return outcome;
}

PAWL_TEST(a_response_counts_unless_its_status_means_retry_later)
{
    static const int later[] = {408, 409, 425, 429, 502, 503, 504};
    static const int counted[] = {0, 200, 204, 301, 500, 501, 505, 507, 599};

    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        pawl_send_report outcome = send_policy_answer(later[i]);
        assert_false(pawli_send_counts(&outcome, &usual));
    }
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        pawl_send_report outcome = send_policy_answer(counted[i]);
        assert_true(pawli_send_counts(&outcome, &usual));
    }
}

PAWL_TEST(a_pause_that_was_asked_for_and_a_probe_do_not_count)
{
    pawl_send_report outcome = send_policy_answer(500);
    pawli_send_facts probe = usual;

    probe.breaker_was_closed = false;
    assert_false(pawli_send_counts(&outcome, &probe));
    outcome.retry_after_ms = 0;
    assert_false(pawli_send_counts(&outcome, &usual));
}

PAWL_TEST(without_a_response_it_counts_only_if_the_destination_responded_to_others)
{
    pawl_send_report none = PAWL_SEND_REPORT_INIT;
    pawli_send_facts alive = usual;

    alive.others_answered = true;
    assert_false(pawli_send_counts(&none, &usual)); /* no connection, DNS, TLS */
    assert_false(pawli_send_counts(&none, &alive));
    none.sent_whole = true;
    assert_false(pawli_send_counts(&none, &usual)); /* a timeout: it may be down */
    assert_true(pawli_send_counts(&none, &alive));
}

PAWL_TEST(with_count_every_send_only_sends_that_never_began_are_not_counted)
{
    pawli_send_facts all = {.count = PAWL_COUNT_ALL};
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;

    assert_true(pawli_send_counts(&outcome, &all)); /* also as a probe, and without a connection */
    outcome = send_policy_answer(503);
    outcome.retry_after_ms = 1000;
    assert_true(pawli_send_counts(&outcome, &all));
    outcome.sent = PAWL_SEND_CANCELLED;
    assert_false(pawli_send_counts(&outcome, &all));
    outcome = (pawl_send_report)PAWL_SEND_REPORT_INIT;
    outcome.ours = true;
    assert_false(pawli_send_counts(&outcome, &all));
}

PAWL_TEST(spans_are_written_as_people_do)
{
    static const struct {
        int64_t ms;
        const char *words;
    } cases[] = {{0, "0ms"},        {350, "350ms"},     {4000, "4s"},    {59400, "59s"},
                 {300000, "5m"},    {61000, "1m 1s"},   {3600000, "1h"}, {5400000, "1h 30m"},
                 {86400000, "24h"}, {1022000, "17m 2s"}};
    char room[PAWLI_SPAN_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(cases[i].words, pawli_span_text(cases[i].ms, room));
}
