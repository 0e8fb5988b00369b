/* src/cli/confirm.h - asking before something is changed. */
#ifndef CLI_CONFIRM_H
#define CLI_CONFIRM_H

#include <stdbool.h>

#include <pawl/error.h>

/* Whether there is somebody to ask; PAWL_E_INVALID (saying to add --yes) if not. */
pawl_status cli_confirm_possible(const char *verb, pawl_error *err);
/* Asks on stderr and reads one line; anything but yes is no. */
bool cli_confirm(const char *question);

#endif
