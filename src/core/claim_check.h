/* src/core/claim_check.h - validation of claims and of the operations that end them. */
#ifndef PAWLI_CLAIM_CHECK_H
#define PAWLI_CLAIM_CHECK_H

#include <pawl/queue.h>

#include "bounds.h"
#include "op.h"

/* All return PAWL_E_INVALID on failure. */
pawl_status pawli_check_owner(const pawl_store *store, pawl_owner owner, pawl_error *err);
pawl_status pawli_check_lease(int64_t lease_ms, pawl_error *err);
pawl_status pawli_check_topics(const pawl_claim_options *options, pawl_error *err);
pawl_status pawli_check_destinations(const pawl_claim_options *options, pawl_error *err);
pawl_status pawli_check_claim(const pawl_store *store, pawl_owner owner, int64_t lease_ms,
                              int limit, const void *ret_list, pawl_error *err);
/* `delay_ms` > 0 or PAWL_DELAY_BY_POLICY, which becomes NULL. */
pawl_status pawli_check_delay(int64_t delay_ms, pawli_value *ret_delay, pawl_error *err);

/* The owner's display name: the given one, which must be valid, or "host:pid". */
#define PAWLI_OWNER_NAME_SIZE (PAWLI_OWNER_NAME_MAX * 4 + 1)
pawl_status pawli_owner_name(const char *given, char ret_name[PAWLI_OWNER_NAME_SIZE],
                             pawl_error *err);

/*
 * "" becomes NULL; bytes that are not UTF-8 are replaced, long texts truncated. `room` stores the
 * text.
 */
#define PAWLI_CLEAN_TEXT_SIZE (PAWLI_TEXT_MAX + 1)
pawli_value pawli_clean_text(const char *words, char room[PAWLI_CLEAN_TEXT_SIZE]);

#endif
