/*
 * include/pawl_private/delivery_store.h - what libpawl-net needs of a store and applications do
 * not: deliveries to all destinations.
 *
 * Not installed. The functions have the version node PAWL_PRIVATE_RELEASE, so libpawl-net only
 * loads with the libpawl of its own release: they may change in any release.
 */
#ifndef PAWL_PRIVATE_DELIVERY_STORE_H
#define PAWL_PRIVATE_DELIVERY_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/queue.h>
#include <pawl/store.h>
#include <pawl/waiter.h>

PAWL_BEGIN_DECLS

/* A list of destination names; the names are borrowed from the list. */
typedef struct pawl_destinations pawl_destinations;

/**
 * Lists the destinations that have unfinished messages: ready, in progress or due later. Ordered by
 * name, starting after `after` (NULL: from the beginning), up to `limit` (1 .. 10000). While
 * pawl_destinations_more() is true, continue after pawl_destinations_last(), even if the page is
 * empty: one call examines at most 10 names per name requested.
 *
 * Ownership: *ret_list is the caller's (pawl_destinations_free); untouched on failure.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout.
 * Errors:    PAWL_E_INVALID, PAWL_E_BUSY, PAWL_E_TIMEOUT, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_destinations(pawl_store *store, const char *after,
                                                             int limit,
                                                             pawl_destinations **ret_list,
                                                             pawl_error *err);
PAWL_API size_t pawl_destinations_count(const pawl_destinations *list);
/* NULL past the end. */
PAWL_API const char *pawl_destinations_at(const pawl_destinations *list, size_t index);
PAWL_API int pawl_destinations_more(const pawl_destinations *list);
/* The `after` of the next page; NULL: nothing was found. */
PAWL_API const char *pawl_destinations_last(const pawl_destinations *list);
/* Increases with every pawl_queue_wake() of that destination; 0: none so far, or past the end. */
PAWL_API int64_t pawl_destinations_woken(const pawl_destinations *list, size_t index);
PAWL_API void pawl_destinations_free(pawl_destinations *list); /* NULL is allowed */

/*
 * pawl_queue_wake() for messages whose last error begins with `error_prefix`, which must not be
 * empty. If no message has such an error, nothing is written and no other process is notified.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_wake_by_error(pawl_store *store,
                                                              const char *destination,
                                                              const char *error_prefix,
                                                              size_t *ret_changed, pawl_error *err);

/* One item of pawl_queue_ack_outputs(). The struct is fixed: it will not get further members. */
typedef struct pawl_receipt_output {
    pawl_receipt item;
    const void *output; /* NULL: none */
    size_t output_size;
} pawl_receipt_output;
/* The same for several messages in one transaction; otherwise as pawl_queue_ack(). */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_ack_outputs(pawl_store *store, pawl_owner owner,
                                                            const pawl_receipt_output *items,
                                                            size_t count, size_t *ret_changed,
                                                            pawl_error *err);

/*
 * pawl_waiter_arm() for messages to any destination except these `count` (0: any), including
 * destinations that have never been used before.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_waiter_arm_others(pawl_waiter *waiter,
                                                            const char *const *destinations,
                                                            size_t count, pawl_error *err);

/* The inbox_keep_ms that the store was opened with. */
PAWL_API int64_t pawl_store_inbox_keep_ms(const pawl_store *store);

PAWL_END_DECLS

#endif
