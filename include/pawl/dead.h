/* include/pawl/dead.h - dead letters: claiming failed and expired messages for a dead-letter
 * handler.
 *
 * Where pawl_topic_dead_letters() has enabled it, a message that becomes failed or expired is
 * recorded in the same transaction. The record is claimed, renewed and finished like a message,
 * under its own lease and fence; when the lease expires it becomes claimable again. It is removed
 * by pawl_dead_done(), or when the message is retried (pawl_outbox_retry()) or purged. A failed
 * message that expires later is not recorded a second time.
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
 * Claims up to `limit` dead letters whose handler is to be called now, for `lease_ms`. `opts` is as
 * for pawl_queue_claim(), without owner_name. State, retries and last_error of the messages are
 * those with which they ended; fence, owner and lease_until are those of this handler call, and
 * pawl_message_dead_call() is its number. Dead letters of a paused topic are handled, too.
 *
 * Ownership: *ret_list is the caller's (pawl_messages_free); an empty list when there are none.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout.
 * Durable:   on PAWL_OK the leases are committed. PAWL_E_IN_DOUBT: claim again; some may become
 *            claimable only when their lease has expired.
 * Errors:    as pawl_queue_claim().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_dead_claim(pawl_store *store, pawl_owner owner,
                                                     int64_t lease_ms, int limit,
                                                     const pawl_claim_options *opts,
                                                     pawl_messages **ret_list, pawl_error *err);

/*
 * The three operations on claimed dead letters, as in queue.h: only those that this owner still
 * owns under the given fence change, and *ret_changed (may be NULL) is their number.
 */
/*
 * The handler succeeded and is not called for these again. The messages themselves do not change.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_dead_done(pawl_store *store, pawl_owner owner,
                                                    const pawl_receipt *items, size_t count,
                                                    size_t *ret_changed, pawl_error *err);
/*
 * The handler failed: it is called again after `delay_ms` (> 0, or PAWL_DELAY_BY_POLICY: the
 * store's local policy), without a limit on attempts.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_dead_abandon(pawl_store *store, pawl_owner owner,
                                                       const pawl_receipt *items, size_t count,
                                                       const char *error, int64_t delay_ms,
                                                       size_t *ret_changed, pawl_error *err);
/* Extends the lease to `lease_ms` from now. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_dead_renew(pawl_store *store, pawl_owner owner,
                                                     const pawl_receipt *items, size_t count,
                                                     int64_t lease_ms, size_t *ret_changed,
                                                     pawl_error *err);

PAWL_END_DECLS

#endif
