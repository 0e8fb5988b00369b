/* src/cli/environment.h - what a command learns about its message. */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <pawl/message.h>

/* Our own environment with the message's PAWL_... variables; freed by cli_environment_free. */
char **cli_environment_new(const pawl_message *message);
void cli_environment_free(char **environment);

#endif
