/*
 * src/core/finish.h - the operations on claimed messages and dead letters, in the form that also
 * says which items were changed. Otherwise as in pawl/queue.h and pawl/dead.h.
 */
#ifndef PAWLI_FINISH_H
#define PAWLI_FINISH_H

#include <pawl/queue.h>

#include "receipt_update.h"

pawl_status pawli_queue_ack(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                            size_t count, pawli_changed ret, pawl_error *err);
pawl_status pawli_queue_ack_and_claim(pawl_store *store, pawl_owner owner,
                                      const pawl_receipt *items, size_t count, int64_t lease_ms,
                                      int limit, const pawl_claim_options *opts,
                                      pawli_changed ret_acked, pawl_messages **ret_list,
                                      pawl_error *err);
pawl_status pawli_queue_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                size_t count, const char *error, int64_t delay_ms,
                                pawli_changed ret, pawl_error *err);
pawl_status pawli_queue_fail(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                             size_t count, const char *error, pawli_changed ret, pawl_error *err);
pawl_status pawli_queue_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                              size_t count, int64_t lease_ms, pawli_changed ret, pawl_error *err);
pawl_status pawli_queue_release(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                size_t count, pawli_changed ret, pawl_error *err);

pawl_status pawli_dead_done(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                            size_t count, pawli_changed ret, pawl_error *err);
pawl_status pawli_dead_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                               size_t count, const char *error, int64_t delay_ms, pawli_changed ret,
                               pawl_error *err);
pawl_status pawli_dead_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                             size_t count, int64_t lease_ms, pawli_changed ret, pawl_error *err);

#endif
