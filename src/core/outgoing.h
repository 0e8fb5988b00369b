/* src/core/outgoing.h - validating a message to send, and converting it to parameters. */
#ifndef PAWLI_OUTGOING_H
#define PAWLI_OUTGOING_H

#include <stdbool.h>

#include <pawl/message.h>

#include "op.h"

enum { OUTGOING_MESSAGE_ID = 1, OUTGOING_OTHER_LANE = 21, OUTGOING_COLUMNS };
extern const char *const pawli_outgoing_names[OUTGOING_COLUMNS];
extern const pawli_type pawli_outgoing_types[OUTGOING_COLUMNS];

/*
 * Reads the caller's struct of any size into `message`, and rejects what must not be stored; a zero
 * id is replaced by a new one. Nothing is copied except the struct itself.
 */
pawl_status pawli_outgoing_read(const pawl_outgoing *given, size_t max_payload_bytes,
                                pawl_outgoing *message, bool *ret_made_id, pawl_error *err);

/* Whether it has only a topic, a payload, a priority, a type and a number of attempts. */
bool pawli_outgoing_is_plain(const pawl_outgoing *message);

/* The number of attempts after which it fails. */
int pawli_outgoing_attempts(const pawl_outgoing *message);
/* When it is due if it is stored at `now`: as requested, even if that is in the past. */
pawl_wall pawli_outgoing_due(const pawl_outgoing *message, pawl_wall now);
/* When it expires, if it may run from `run_at` on; or PAWL_NEVER. */
pawl_wall pawli_outgoing_expiry(const pawl_outgoing *message, pawl_wall run_at);
/* Whether two messages with the same id have the same content. */
bool pawli_outgoing_same(const pawl_outgoing *a, const pawl_outgoing *b);
/* PAWL_E_CONFLICT: its id exists with different content. */
pawl_status pawli_outgoing_conflict(const pawl_outgoing *message, pawl_error *err);
/* PAWL_E_TOO_LARGE if `count` messages with `bytes` of payload are too much for one call. */
pawl_status pawli_outgoing_check_batch(size_t count, size_t bytes, pawl_error *err);

/* The jitter as a parameter: NULL is a tenth of the delay. */
pawli_value pawli_jitter(const pawl_backoff *policy);
/* One row of parameters; everything in it is borrowed from `message`. */
void pawli_outgoing_lay_out(const pawl_outgoing *message, size_t position,
                            pawli_value values[OUTGOING_COLUMNS]);

#endif
