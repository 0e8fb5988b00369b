/* src/core/page.h - what the position in a list stands for. */
#ifndef PAWLI_PAGE_H
#define PAWLI_PAGE_H

#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/page.h>

/* Descending ids. *ret_before: INT64_MAX for the first page. */
pawl_status pawli_page_read_id(const pawl_page *page, int64_t *ret_before, pawl_error *err);
/* 0: there is no next page. `ret_page` may be NULL. */
void pawli_page_write_id(int64_t id, pawl_page *ret_page);

/* Names, which the text is. */
pawl_status pawli_page_check_name(const pawl_page *page, pawl_error *err);
/* NULL: there is no next page. `ret_page` may be NULL. */
void pawli_page_write_name(const char *name, pawl_page *ret_page);

/* A position in the order of timers: those behind (due_at, id). All zero: the beginning, or none.
 */
typedef struct pawli_timer_mark {
    pawl_wall due_at;
    int64_t id;
} pawli_timer_mark;

pawl_status pawli_page_read_timer(const pawl_page *page, pawli_timer_mark *ret_mark,
                                  pawl_error *err);
void pawli_page_write_timer(pawli_timer_mark mark, pawl_page *ret_page);

#endif
