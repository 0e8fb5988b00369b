/* src/core/page_test.c - what the position in a list stands for. */
#include <stdio.h>
#include <string.h>

#include "page.h"
#include "test.h"

static pawl_page page_of(const char *text)
{
    pawl_page page = PAWL_PAGE_INIT;

    snprintf(page.text, sizeof page.text, "%s", text);
    return page;
}

PAWL_TEST(ids_are_decimal_numbers)
{
    pawl_page page = page_of("");
    int64_t before = 0;

    assert_status(PAWL_OK, pawli_page_read_id(&page, &before, NULL), NULL);
    assert_int_equal(INT64_MAX, before);
    pawli_page_write_id(4711, &page);
    assert_string_equal("4711", page.text);
    assert_status(PAWL_OK, pawli_page_read_id(&page, &before, NULL), NULL);
    assert_int_equal(4711, before);
    pawli_page_write_id(0, &page);
    assert_true(PAWL_PAGE_IS_NONE(page));
    pawli_page_write_id(1, NULL);
}

PAWL_TEST(names_are_themselves)
{
    pawl_page page;

    pawli_page_write_name("nightly 'report'", &page);
    assert_string_equal("nightly 'report'", page.text);
    assert_status(PAWL_OK, pawli_page_check_name(&page, NULL), NULL);
    pawli_page_write_name(NULL, &page);
    assert_true(PAWL_PAGE_IS_NONE(page));
}

PAWL_TEST(timers_have_a_time_and_an_id)
{
    pawli_timer_mark mark = {{1}, 1};
    pawl_page page = page_of("");

    assert_status(PAWL_OK, pawli_page_read_timer(&page, &mark, NULL), NULL);
    assert_int_equal(0, mark.id);
    pawli_page_write_timer((pawli_timer_mark){{INT64_MAX}, INT64_MAX}, &page);
    assert_status(PAWL_OK, pawli_page_read_timer(&page, &mark, NULL), NULL);
    assert_int_equal(INT64_MAX, mark.due_at.us);
    assert_int_equal(INT64_MAX, mark.id);
    pawli_page_write_timer((pawli_timer_mark){{5}, 0}, &page);
    assert_true(PAWL_PAGE_IS_NONE(page));
}

PAWL_TEST(other_texts_are_refused)
{
    static const char *const bad[] = {"x",  "-1", "0",   "1 ",    " 1",     "9223372036854775808",
                                      "1:", ":1", "1:0", "1:1:1", "a name", "\xff"};
    pawl_page endless;
    pawli_timer_mark mark;
    int64_t before;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pawl_page page = page_of(bad[i]);
        assert_status(PAWL_E_INVALID, pawli_page_read_id(&page, &before, NULL), NULL);
        assert_status(PAWL_E_INVALID, pawli_page_read_timer(&page, &mark, NULL), NULL);
    }
    memset(endless.text, '1', sizeof endless.text);
    assert_status(PAWL_E_INVALID, pawli_page_read_id(&endless, &before, NULL), NULL);
    assert_status(PAWL_E_INVALID, pawli_page_check_name(&endless, NULL), NULL);
    assert_status(PAWL_E_INVALID, pawli_page_read_timer(&endless, &mark, NULL), NULL);
    endless = page_of("\xff");
    assert_status(PAWL_E_INVALID, pawli_page_check_name(&endless, NULL), NULL);
}
