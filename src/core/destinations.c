/* src/core/destinations.c - lists the destinations that have unfinished messages. */
#include <pawl/queue.h>
#include <pawl_private/delivery_store.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "batch_update.h"
#include "fail.h"
#include "scope.h"
#include "store_private.h"
#include "text.h"

/* How many names may be examined per requested one. */
#define SCAN_PER_NAME 10

enum { COLUMN_NAME, COLUMN_MATCHES, COLUMN_BOUNDED, COLUMN_WOKEN };

struct pawl_destinations {
    const char **names;
    int64_t *woken; /* parallel to the names */
    size_t count;
    size_t limit;
    const char *last; /* the last name examined */
    bool more;
    pawli_arena memory;
};

PAWLI_AUTO_DEFINE(pawl_destinations, pawl_destinations_free);

static void destinations_start(void *context)
{
    pawl_destinations *list = context;

    pawli_arena_done(&list->memory);
    list->count = 0;
    list->last = NULL;
    list->more = false;
}

static pawl_status destinations_add(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_destinations *list = context;
    size_t size;

    if (list->count == list->limit) { /* the remaining rows belong to the next page */
        list->more = true;
        return PAWL_OK;
    }
    const void *bytes = pawli_row_bytes(row, COLUMN_NAME, &size);
    const char *name = pawli_arena_copy(&list->memory, bytes, size);
    if (!name)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the destinations");
    list->last = name;
    list->more = pawli_row_int(row, COLUMN_BOUNDED) != 0;
    if (pawli_row_int(row, COLUMN_MATCHES)) {
        list->woken[list->count] = pawli_row_int(row, COLUMN_WOKEN);
        list->names[list->count++] = name;
    }
    return PAWL_OK;
}

pawl_status pawl_queue_destinations(pawl_store *store, const char *after, int limit,
                                    pawl_destinations **ret_list, pawl_error *err)
{
    PAWLI_AUTO(pawl_destinations) list = NULL;

    if (!store || !ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_list must not be NULL");
    if (limit < 1 || limit > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the limit must be 1 to %d", PAWL_BATCH_MAX);
    if (after && !pawli_utf8_check(after, strlen(after), NULL))
        return pawli_fail(err, PAWL_E_INVALID, "the `after` destination is not UTF-8");
    list = calloc(1, sizeof *list);
    if (list) {
        list->names = calloc((size_t)limit, sizeof *list->names);
        list->woken = calloc((size_t)limit, sizeof *list->woken);
    }
    if (!list || !list->names || !list->woken)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %d destinations", limit);
    list->limit = (size_t)limit;
    pawli_param params[] = {
        {"after", pawli_text(after ? after : "")},
        {"scan", pawli_int((int64_t)limit * SCAN_PER_NAME)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_DESTINATIONS,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = destinations_add,
        .on_start = destinations_start,
        .context = list,
    };
    pawl_status st = pawli_db_run(store->db, &op, err);
    if (st == PAWL_OK)
        *ret_list = pawl_destinations_take(&list);
    return st;
}

size_t pawl_destinations_count(const pawl_destinations *list)
{
    return list ? list->count : 0;
}

const char *pawl_destinations_at(const pawl_destinations *list, size_t index)
{
    return list && index < list->count ? list->names[index] : NULL;
}

int64_t pawl_destinations_woken(const pawl_destinations *list, size_t index)
{
    return list && index < list->count ? list->woken[index] : 0;
}

int pawl_destinations_more(const pawl_destinations *list)
{
    return list && list->more;
}

const char *pawl_destinations_last(const pawl_destinations *list)
{
    return list ? list->last : NULL;
}

void pawl_destinations_free(pawl_destinations *list)
{
    if (!list)
        return;
    pawli_arena_done(&list->memory);
    free((void *)list->names);
    free(list->woken);
    free(list);
}

/* Updates page by page: a single transaction over a million messages would block all other
 * writers. */
static pawl_status wake_pages(pawl_store *store, const char *destination, const char *error_prefix,
                              size_t *ret_changed, pawl_error *err)
{
    size_t total = 0, changed = 0;
    pawl_status st;

    if (!store || !destination || !*destination ||
        !pawli_utf8_check(destination, strlen(destination), NULL))
        return pawli_fail(err, PAWL_E_INVALID,
                          "store must not be NULL, and the destination must be a UTF-8 name");
    pawli_param params[] = {{"destination", pawli_text(destination)},
                            {"limit", pawli_int(PAWL_BATCH_MAX)},
                            {"error_prefix", pawli_text(error_prefix)}};
    do {
        st = pawli_batch_update_found(store, PAWLI_SQL_WAKE, params, PAWLI_COUNT(params), &changed,
                                      err);
        total += st == PAWL_OK ? changed : 0;
    } while (st == PAWL_OK && changed == PAWL_BATCH_MAX);
    if (st == PAWL_OK && ret_changed)
        *ret_changed = total;
    return st;
}

pawl_status pawl_queue_wake(pawl_store *store, const char *destination, size_t *ret_changed,
                            pawl_error *err)
{
    return wake_pages(store, destination, NULL, ret_changed, err);
}

pawl_status pawl_queue_wake_by_error(pawl_store *store, const char *destination,
                                     const char *error_prefix, size_t *ret_changed, pawl_error *err)
{
    if (!error_prefix || !*error_prefix ||
        !pawli_utf8_check(error_prefix, strlen(error_prefix), NULL))
        return pawli_fail(err, PAWL_E_INVALID, "error_prefix must be a UTF-8 text, and not empty");
    return wake_pages(store, destination, error_prefix, ret_changed, err);
}
