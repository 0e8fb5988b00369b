/* src/core/message_private.h - reading messages from result rows. */
#ifndef PAWLI_MESSAGE_PRIVATE_H
#define PAWLI_MESSAGE_PRIVATE_H

#include <pawl/message.h>

#include "columns.h"
#include "op.h"
#include "scope.h"

#define X(upper, name) COLUMN_##upper,
enum { PAWLI_MESSAGE_COLUMNS(X) PAWLI_EXTRA_COLUMNS(X) COLUMN_COUNT };
#undef X
extern const pawli_columns pawli_message_columns;

PAWLI_AUTO_DEFINE(pawl_messages, pawl_messages_free);

pawl_status pawli_messages_new(pawl_messages **ret_list, pawl_error *err);
/* Discards what was read: the op runs again. */
void pawli_messages_clear(pawl_messages *list);
/* Discards all but the first `count`. */
void pawli_messages_truncate(pawl_messages *list, size_t count);
/* `row` is of an op whose columns are pawli_message_columns. */
pawl_status pawli_messages_add(pawl_messages *list, const pawli_row *row, pawl_error *err);

/* The two callbacks of an op whose context is a pawl_messages. */
void pawli_messages_on_start(void *list);
pawl_status pawli_messages_on_row(void *list, const pawli_row *row, pawl_error *err);

#endif
