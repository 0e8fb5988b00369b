/* src/cli/show.h - details of the message that the command line names. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <stdbool.h>

#include "args.h"

/* `verb` is for messages. */
pawl_status cli_show_one(const char *verb, const cli_args *args, bool payload_only,
                         pawl_error *err);

#endif
