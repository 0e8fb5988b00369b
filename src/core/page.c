/* src/core/page.c - what the position in a list stands for. */
#include "page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "text.h"

static pawl_status page_refuse(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_INVALID,
                      "`after` must be empty or the *ret_next of a call of the same kind");
}

/* A decimal number of at least `least` at *at, which moves behind it. */
static bool page_read_number(const char **at, int64_t least, int64_t *ret_number)
{
    int64_t number = 0;

    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        int digit = **at - '0';
        if (number > (INT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return number >= least;
}

pawl_status pawli_page_read_id(const pawl_page *page, int64_t *ret_before, pawl_error *err)
{
    const char *at = page->text;

    if (PAWL_PAGE_IS_NONE(*page)) {
        *ret_before = INT64_MAX;
        return PAWL_OK;
    }
    if (!memchr(page->text, 0, sizeof page->text) || !page_read_number(&at, 1, ret_before) || *at)
        return page_refuse(err);
    return PAWL_OK;
}

void pawli_page_write_id(int64_t id, pawl_page *ret_page)
{
    if (ret_page && id == 0)
        *ret_page = (pawl_page)PAWL_PAGE_INIT;
    else if (ret_page)
        snprintf(ret_page->text, sizeof ret_page->text, "%" PRId64, id);
}

pawl_status pawli_page_check_name(const pawl_page *page, pawl_error *err)
{
    const char *end = memchr(page->text, 0, sizeof page->text);

    if (!end || !pawli_utf8_check(page->text, (size_t)(end - page->text), NULL))
        return page_refuse(err);
    return PAWL_OK;
}

void pawli_page_write_name(const char *name, pawl_page *ret_page)
{
    if (ret_page)
        snprintf(ret_page->text, sizeof ret_page->text, "%s", name ? name : "");
}

pawl_status pawli_page_read_timer(const pawl_page *page, pawli_timer_mark *ret_mark,
                                  pawl_error *err)
{
    pawli_timer_mark mark = {{0}, 0};
    const char *at = page->text;

    if (!PAWL_PAGE_IS_NONE(*page) &&
        (!memchr(page->text, 0, sizeof page->text) || !page_read_number(&at, 0, &mark.due_at.us) ||
         *at++ != ':' || !page_read_number(&at, 1, &mark.id) || *at))
        return page_refuse(err);
    *ret_mark = mark;
    return PAWL_OK;
}

void pawli_page_write_timer(pawli_timer_mark mark, pawl_page *ret_page)
{
    if (mark.id == 0)
        *ret_page = (pawl_page)PAWL_PAGE_INIT;
    else
        snprintf(ret_page->text, sizeof ret_page->text, "%" PRId64 ":%" PRId64, mark.due_at.us,
                 mark.id);
}
