/* src/cli/commands/message_fields.h - a message as JSON, as a row of a table, and in full. */
#ifndef CLI_MESSAGE_FIELDS_H
#define CLI_MESSAGE_FIELDS_H

#include <pawl/message.h>

#include "args.h"
#include "fields.h"

/* Everything except the payload; the table of `ls`. */
extern const cli_noun cli_message_noun;
/* The table of `timer ls`; no JSON. */
extern const cli_noun cli_timer_noun;

/* With payload and output. */
json_t *cli_message_full_json(const pawl_message *message);
void cli_message_details(const pawl_message *message, pawl_wall now);

/* Shows the message that the command line names; `verb` is for error messages. */
pawl_status cli_show_one(const char *verb, const cli_args *args, bool payload_only,
                         pawl_error *err);

#endif
