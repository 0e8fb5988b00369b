/* src/base/log_test.c - passing log records to a sink. */
#include <string.h>

#include "log.h"
#include "test.h"

static char seen[1024];
static int records;

static void keep(void *context, pawl_log_level level, const char *area, const char *message)
{
    (void)context;
    (void)level;
    records++;
    strncpy(seen, area, sizeof seen - 1);
    strncat(seen, ": ", sizeof seen - strlen(seen) - 1);
    strncat(seen, message, sizeof seen - strlen(seen) - 1);
}

PAWL_TEST(without_a_sink_nothing_happens)
{
    pawl_log_sink silent = {0};

    pawli_log(&silent, PAWL_LOG_ERROR, "x", "%s", "y");
}

PAWL_TEST(levels_below_the_sinks_are_dropped)
{
    pawl_log_sink sink = {keep, NULL, PAWL_LOG_WARNING};

    records = 0;
    pawli_log(&sink, PAWL_LOG_INFO, "outbox", "no");
    assert_int_equal(records, 0);
    pawli_log(&sink, PAWL_LOG_ERROR, "outbox", "yes %d", 1);
    assert_int_equal(records, 1);
    assert_string_equal(seen, "outbox: yes 1");
}

PAWL_TEST(a_record_is_one_line_whatever_is_in_it)
{
    pawl_log_sink sink = {keep, NULL, PAWL_LOG_DEBUG};

    pawli_log(&sink, PAWL_LOG_INFO, "outbox", "topic %s", "a\nfake: record\r\x1b[31m");
    assert_null(strpbrk(seen, "\n\r\x1b"));
}
