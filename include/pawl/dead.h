/* include/pawl/dead.h - calling a dead-letter handler for what failed or expired, until it
 * succeeds.
 *
 * Where pawl_topic_dead_letters() asked for it, a message that becomes failed or expired is
 * recorded in the same transaction. The record is claimed, answered and renewed like a message,
 * under a lease and a fence of its own; a lease that ends makes it claimable again. It ends when it
 * is answered with pawl_dead_done(), or when the message is redriven or purged. A failed message
 * that expires later is not recorded a second time.
 */
#ifndef PAWL_DEAD_H
#define PAWL_DEAD_H

#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/message.h>
#include <pawl/queue.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

/**
 * Take up to `limit` dead letters whose handler is to be called now, for `lease_ms`. `opts` as for
 * pawl_queue_claim(), without owner_name. The messages are as they ended (state, retries,
 * last_error); fence, owner and lease_until are those of this call of the handler, and
 * pawl_message_dead_call() counts the calls. A paused topic's dead letters are handled.
 *
 * Ownership: *ret_list is the caller's (pawl_messages_free); an empty list when there are none.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout.
 * Durable:   on PAWL_OK the leases are committed. PAWL_E_IN_DOUBT: claim again, some may come when
 *            their lease has ended.
 * Errors:    as pawl_queue_claim().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_dead_claim(pawl_store *store, pawl_owner owner,
                                                     int64_t lease_ms, int limit,
                                                     const pawl_claim_options *opts,
                                                     pawl_messages **ret_list, pawl_error *err);

/*
 * The three answers, as those to a claim (queue.h): only what this owner still holds under the
 * given fence changes, and *ret_changed (may be NULL) counts it.
 */
/* Successful: it is not called for these again. The messages stay as they are. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_dead_done(pawl_store *store, pawl_owner owner,
                                                    const pawl_held *items, size_t count,
                                                    size_t *ret_changed, pawl_error *err);
/* Again after `delay_ms` (> 0, or PAWL_DELAY_BY_POLICY: the store's local policy). For ever. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_dead_retry(pawl_store *store, pawl_owner owner,
                                                     const pawl_held *items, size_t count,
                                                     const char *error, int64_t delay_ms,
                                                     size_t *ret_changed, pawl_error *err);
/* Still at it: the lease now ends `lease_ms` from now. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_dead_renew(pawl_store *store, pawl_owner owner,
                                                     const pawl_held *items, size_t count,
                                                     int64_t lease_ms, size_t *ret_changed,
                                                     pawl_error *err);

PAWL_END_DECLS

#endif
