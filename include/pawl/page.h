/* include/pawl/page.h - the position in a list that is read page by page. */
#ifndef PAWL_PAGE_H
#define PAWL_PAGE_H

#include <pawl/export.h>

PAWL_BEGIN_DECLS

#define PAWL_PAGE_SIZE 1024 /* bytes */

/*
 * Where a page begins, for every call that ends in _list:
 *
 *     pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
 *     do {
 *         st = pawl_outbox_list(store, &filter, &list, &filter.after, &err);
 *         ...
 *     } while (st == PAWL_OK && !PAWL_PAGE_IS_NONE(filter.after));
 *
 * A call returns only what is behind the `after` of its filter, and writes to *ret_next (may be
 * NULL) the `after` of the next page, or an empty text if there is none. The text is printable
 * UTF-8 that ends with a zero byte; it stays valid while rows are added and removed, and may be
 * stored or given to another process. It is only for calls with the same order: messages, inbox
 * records and runs have their id as a decimal number, leases and jobs their name. Any other text
 * is PAWL_E_INVALID. The struct is fixed: it will not get further members.
 */
typedef struct pawl_page {
    char text[PAWL_PAGE_SIZE]; /* "": the first page, or no next page */
} pawl_page;
#define PAWL_PAGE_INIT                                                                             \
    {                                                                                              \
        ""                                                                                         \
    }
#define PAWL_PAGE_IS_NONE(page) ((page).text[0] == 0)

PAWL_END_DECLS

#endif
