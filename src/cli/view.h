/* src/cli/view.h - a message as a row, as JSON, as a page. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <pawl/message.h>

#include "output.h"
#include "table.h"
#include "when.h"

/* Attempts begun so far. */
int cli_view_attempts(const pawl_message *message);
cli_color cli_view_state_color(pawl_state state);

/* For a table: relative and absolute, or on a narrow terminal only relative. */
const char *cli_view_time(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE]);

/* The table of `ls` and of --dry-run. `now` is the database's. */
cli_table *cli_view_table(void);
void cli_view_row(cli_table *table, const pawl_message *message, pawl_wall now);

/* Everything but the payload. */
json_t *cli_view_json(const pawl_message *message);
/* Adds payload_size, and payload or payload_base64. */
void cli_view_json_payload(json_t *object, const pawl_message *message);

/* Everything, for people. */
void cli_view_page(const pawl_message *message, pawl_wall now);

#endif
