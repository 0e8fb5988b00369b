/* src/cli/action.h - the word behind a verb that says what to do: the "ls" of `pawl timer ls`. */
#ifndef CLI_ACTION_H
#define CLI_ACTION_H

#include <stddef.h>

#include <pawl/error.h>

#include "args.h"

/*
 * The one of `count` actions, `size` bytes each, that the first word names. Every action is a
 * struct that begins with `const char *name`. NULL: `err` names the nearest one, or is `usage`.
 */
const void *cli_action_find(const cli_args *args, const void *actions, size_t count, size_t size,
                            const char *usage, pawl_error *err);
#define CLI_ACTION(args, actions, usage, err)                                                      \
    cli_action_find((args), (actions), CLI_COUNT(actions), sizeof *(actions), (usage), (err))

#endif
