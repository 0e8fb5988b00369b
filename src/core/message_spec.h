/* src/core/message_spec.h - validating a message to send, and converting it to parameters. */
#ifndef PAWLI_MESSAGE_SPEC_H
#define PAWLI_MESSAGE_SPEC_H

#include <stdbool.h>

#include <pawl/message.h>

#include "columns.h"
#include "op.h"

#define X(upper, name, type) SPEC_##upper,
enum { PAWLI_SPEC_COLUMNS(X) SPEC_COLUMNS };
#undef X
extern const char *const pawli_message_spec_names[SPEC_COLUMNS];
extern const pawli_type pawli_message_spec_types[SPEC_COLUMNS];

/*
 * Reads the caller's struct of any size into `message`, and rejects what must not be stored; a zero
 * id is replaced by a new one. Nothing is copied except the struct itself.
 */
pawl_status pawli_message_spec_read(const pawl_message_spec *given, size_t max_payload_bytes,
                                    pawl_message_spec *message, bool *ret_made_id, pawl_error *err);

/* Whether it has only a topic, a payload, a priority, a type and a number of attempts. */
bool pawli_message_spec_is_plain(const pawl_message_spec *message);

/* The number of attempts after which it fails. */
int pawli_message_spec_attempts(const pawl_message_spec *message);
/* When it is due if it is stored at `now`: as requested, even if that is in the past. */
pawl_wall pawli_message_spec_due(const pawl_message_spec *message, pawl_wall now);
/* When it expires, if it may run from `run_at` on; or PAWL_TIME_UNSET. */
pawl_wall pawli_message_spec_expiry(const pawl_message_spec *message, pawl_wall run_at);
/* Whether two messages with the same id have the same content. */
bool pawli_message_spec_same(const pawl_message_spec *a, const pawl_message_spec *b);
/* PAWL_E_CONFLICT: its id exists with different content. */
pawl_status pawli_message_spec_conflict(const pawl_message_spec *message, pawl_error *err);
/* PAWL_E_TOO_LARGE if `count` messages with `bytes` of payload are too much for one call. */
pawl_status pawli_message_spec_check_batch(size_t count, size_t bytes, pawl_error *err);

/* The jitter as a parameter: NULL is a tenth of the delay. */
pawli_value pawli_jitter(const pawl_backoff *policy);
/* One row of parameters; everything in it is borrowed from `message`. */
void pawli_message_spec_lay_out(const pawl_message_spec *message, size_t position,
                                pawli_value values[SPEC_COLUMNS]);

#endif
