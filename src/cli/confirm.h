/* src/cli/confirm.h - asking for confirmation before a change. */
#ifndef CLI_CONFIRM_H
#define CLI_CONFIRM_H

#include <stdbool.h>

#include <pawl/error.h>

/* Checks that there is a terminal; otherwise PAWL_E_INVALID (saying to add --yes). */
pawl_status cli_confirm_possible(const char *verb, pawl_error *err);
/* Asks on stderr and reads one line; anything except yes is no. */
bool cli_confirm(const char *question);

#endif
