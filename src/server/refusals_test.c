/* src/server/refusals_test.c - refusals are counted, and logged once a minute at most. */
#include "refusals.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

#define SECOND_US INT64_C(1000000)

typedef struct journal {
    int records;
    char last[512];
} journal;

static void write_down(void *context, pawl_log_level level, const char *area, const char *message)
{
    journal *to = context;

    assert_int_equal(PAWL_LOG_WARNING, level);
    assert_string_equal("receiver", area);
    to->records++;
    snprintf(to->last, sizeof to->last, "%s", message);
}

PAWL_TEST(a_kind_of_refusal_is_logged_once_a_minute_with_its_count)
{
    journal to = {0};
    const pawl_log_sink sink = {write_down, &to, PAWL_LOG_INFO};
    pawli_refusals refusals = {0};
    pawl_mono start = {1000 * SECOND_US};

    pawli_refusals_init(&refusals);
    pawli_refusals_log(&refusals, &sink, start);
    assert_int_equal(0, to.records);
    for (int i = 0; i < 3; i++)
        pawli_refusals_add(&refusals, PAWLI_REFUSED_HELD_BYTES);
    pawli_refusals_log(&refusals, &sink, start);
    assert_int_equal(1, to.records);
    assert_non_null(strstr(to.last, "refused 3 with 429"));
    for (int i = 0; i < 500; i++) {
        pawli_refusals_add(&refusals, PAWLI_REFUSED_HELD_BYTES);
        pawli_refusals_log(&refusals, &sink, (pawl_mono){start.us + 59 * SECOND_US});
    }
    assert_int_equal(1, to.records);
    pawli_refusals_add(&refusals, PAWLI_REFUSED_TIMEOUT); /* another kind has its own minute */
    pawli_refusals_log(&refusals, &sink, (pawl_mono){start.us + 59 * SECOND_US});
    assert_int_equal(2, to.records);
    assert_non_null(strstr(to.last, "refused 1 with 408"));
    pawli_refusals_log(&refusals, &sink, (pawl_mono){start.us + 60 * SECOND_US});
    assert_int_equal(3, to.records);
    assert_non_null(strstr(to.last, "refused 500 with 429"));
    pawli_refusals_log(&refusals, &sink, (pawl_mono){start.us + 3600 * SECOND_US});
    assert_int_equal(3, to.records);
    assert_int_equal(503, pawli_refusals_count(&refusals, PAWLI_REFUSED_HELD_BYTES));
    pawli_refusals_destroy(&refusals);
}

PAWL_TEST(every_kind_has_a_name_a_status_and_a_sentence)
{
    char answer[PAWLI_REFUSAL_ANSWER_SIZE];

    for (int i = 0; i < PAWLI_REFUSAL_COUNT; i++) {
        assert_non_null(pawli_refusal_name((pawli_refusal)i));
        assert_non_null(pawli_refusal_text((pawli_refusal)i));
        assert_in_range(pawli_refusal_status((pawli_refusal)i), 400, 599);
        size_t size = pawli_refusal_answer((pawli_refusal)i, answer);
        assert_true(size < sizeof answer);
        assert_int_equal('}', answer[size - 1]); /* it is whole */
    }
}
