/* src/cli/action.h - subcommands: the "ls" of `pawl timer ls`. */
#ifndef CLI_ACTION_H
#define CLI_ACTION_H

#include <stddef.h>

#include <pawl/error.h>

#include "args.h"

/*
 * Returns the one of `count` subcommands, `size` bytes each, that the first word names. Every
 * subcommand is a struct that begins with `const char *name`. NULL: `err` names the nearest one, or
 * is `usage`.
 */
const void *cli_action_find(const cli_args *args, const void *actions, size_t count, size_t size,
                            const char *usage, pawl_error *err);
#define CLI_ACTION(args, actions, usage, err)                                                      \
    cli_action_find((args), (actions), CLI_COUNT(actions), sizeof *(actions), (usage), (err))

#endif
