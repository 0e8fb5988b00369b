/* src/core/message_private.h - reading messages from result rows. */
#ifndef PAWLI_MESSAGE_PRIVATE_H
#define PAWLI_MESSAGE_PRIVATE_H

#include <pawl/message.h>

#include "op.h"
#include "scope.h"

/* The columns of the view pawl_message, in its order. */
enum {
    COLUMN_ID,
    COLUMN_MESSAGE_ID,
    COLUMN_TOPIC,
    COLUMN_PAYLOAD,
    COLUMN_TYPE,
    COLUMN_DESTINATION,
    COLUMN_HEADERS,
    COLUMN_CORRELATION_ID,
    COLUMN_PRIORITY,
    COLUMN_CREATED_AT,
    COLUMN_DUE_AT,
    COLUMN_EXPIRES_AT,
    COLUMN_MAX_ATTEMPTS,
    COLUMN_RETRIES,
    COLUMN_STATE,
    COLUMN_FENCE,
    COLUMN_OWNER,
    COLUMN_CLAIMED_BY,
    COLUMN_LEASE_UNTIL,
    COLUMN_NEXT_ATTEMPT_AT,
    COLUMN_FINISHED_AT,
    COLUMN_PROCESSED_BY,
    COLUMN_LAST_ERROR,
    COLUMN_PROGRESS,
    COLUMN_TIMEOUT,
    COLUMN_HEARTBEAT,
    COLUMN_RUN_ID,
    COLUMN_OUTPUT,
    COLUMN_DEFERRALS,
    COLUMN_RETRY_BASE,
    COLUMN_RETRY_MAX,
    COLUMN_RETRY_JITTER,
    COLUMN_COUNT_ALL,
    COLUMN_COUNT
};

PAWLI_AUTO_DEFINE(pawl_messages, pawl_messages_free);

pawl_status pawli_messages_new(pawl_messages **ret_list, pawl_error *err);
/* Discards what was read: the op runs again. */
void pawli_messages_clear(pawl_messages *list);
/* Discards all but the first `count`. */
void pawli_messages_truncate(pawl_messages *list, size_t count);
pawl_status pawli_messages_add(pawl_messages *list, const pawli_row *row, pawl_error *err);

/*
 * Sets the number of dead-letter calls of the last added message, from the column after the last.
 */
void pawli_messages_dead_call(pawl_messages *list, const pawli_row *row);

/* The two callbacks of an op whose context is a pawl_messages. */
void pawli_messages_on_start(void *list);
pawl_status pawli_messages_on_row(void *list, const pawli_row *row, pawl_error *err);

#endif
