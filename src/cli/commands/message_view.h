/* src/cli/commands/message_view.h - a message as a table row, as JSON, and in full. */
#ifndef CLI_MESSAGE_VIEW_H
#define CLI_MESSAGE_VIEW_H

#include <stdbool.h>

#include <pawl/message.h>

#include "args.h"
#include "console.h"
#include "table.h"
#include "units.h"

/* Attempts started so far. */
int cli_message_attempts(const pawl_message *message);
cli_color cli_message_state_color(pawl_state state);

/* For a table: relative and absolute time, or on a narrow terminal only relative. */
const char *cli_table_time(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE]);

/* The table of `ls` and of --dry-run. `now` is the database's. */
cli_table *cli_message_table(void);
void cli_message_row(cli_table *table, const pawl_message *message, pawl_wall now);

/* Everything except the payload. */
json_t *cli_message_json(const pawl_message *message);
/* Adds NAME_size, and NAME or NAME_base64. `bytes` are followed by a zero, or NULL: none. */
void cli_json_bytes(json_t *object, const char *name, const void *bytes, size_t size);
/* Adds payload_size, and payload or payload_base64; the same for the output, if there is one. */
void cli_message_json_payload(json_t *object, const pawl_message *message);

/*
 * Prints one line of the details: a name and a value; nothing if a text or time is not set. `bytes`
 * are followed by a zero; `option` is how to get them if they are not text.
 */
void cli_details_field(const char *name, cli_color color, const char *format, ...)
    PAWL_PRINTF(3, 4);
void cli_details_text(const char *name, const char *text);
void cli_details_time(const char *name, pawl_wall time, pawl_wall now);
void cli_details_error(const char *error);
void cli_details_bytes(const char *name, const char *option, const char *bytes, size_t size);

/* Prints everything, human-readable. */
void cli_message_details(const pawl_message *message, pawl_wall now);

/* `verb` is for messages. */
pawl_status cli_show_one(const char *verb, const cli_args *args, bool payload_only,
                         pawl_error *err);

#endif
