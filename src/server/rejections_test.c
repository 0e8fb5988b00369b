/* src/server/rejections_test.c - rejections are counted, and logged at most once a minute. */
#include "rejections.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

#define SECOND_US INT64_C(1000000)

typedef struct journal {
    int records;
    char last[512];
} journal;

static void write_down(void *context, const pawl_log_record *record)
{
    journal *to = context;

    assert_int_equal(PAWL_LOG_WARNING, record->level);
    assert_string_equal("receiver", record->area);
    to->records++;
    snprintf(to->last, sizeof to->last, "%s", record->message);
}

PAWL_TEST(each_kind_of_rejection_is_logged_once_a_minute_with_its_count)
{
    journal to = {0};
    const pawl_log_sink sink = {write_down, &to, PAWL_LOG_INFO};
    pawli_rejections rejections = {0};
    pawl_mono start = {1000 * SECOND_US};

    pawli_rejections_init(&rejections);
    pawli_rejections_log(&rejections, &sink, start);
    assert_int_equal(0, to.records);
    for (int i = 0; i < 3; i++)
        pawli_rejections_add(&rejections, PAWLI_REJECTED_MEMORY);
    pawli_rejections_log(&rejections, &sink, start);
    assert_int_equal(1, to.records);
    assert_non_null(strstr(to.last, "rejected 3 with HTTP 429"));
    for (int i = 0; i < 500; i++) {
        pawli_rejections_add(&rejections, PAWLI_REJECTED_MEMORY);
        pawli_rejections_log(&rejections, &sink, (pawl_mono){start.us + 59 * SECOND_US});
    }
    assert_int_equal(1, to.records);
    pawli_rejections_add(&rejections, PAWLI_REJECTED_TIMEOUT); /* each kind is rate-limited
                                                                * separately */
    pawli_rejections_log(&rejections, &sink, (pawl_mono){start.us + 59 * SECOND_US});
    assert_int_equal(2, to.records);
    assert_non_null(strstr(to.last, "rejected 1 with HTTP 408"));
    pawli_rejections_log(&rejections, &sink, (pawl_mono){start.us + 60 * SECOND_US});
    assert_int_equal(3, to.records);
    assert_non_null(strstr(to.last, "rejected 500 with HTTP 429"));
    pawli_rejections_log(&rejections, &sink, (pawl_mono){start.us + 3600 * SECOND_US});
    assert_int_equal(3, to.records);
    assert_int_equal(503, pawli_rejections_count(&rejections, PAWLI_REJECTED_MEMORY));
    pawli_rejections_destroy(&rejections);
}

PAWL_TEST(every_kind_has_a_name_a_status_and_a_sentence)
{
    char response[PAWLI_REJECTION_RESPONSE_SIZE];

    for (int i = 0; i < PAWLI_REJECTION_COUNT; i++) {
        assert_non_null(pawli_rejection_name((pawli_rejection)i));
        assert_non_null(pawli_rejection_text((pawli_rejection)i));
        assert_in_range(pawli_rejection_status((pawli_rejection)i), 400, 599);
        size_t size = pawli_rejection_response((pawli_rejection)i, response);
        assert_true(size < sizeof response);
        assert_int_equal('}', response[size - 1]); /* the response is complete */
    }
}
