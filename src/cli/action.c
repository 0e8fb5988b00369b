/* src/cli/action.c - the word behind a verb that says what to do: the "ls" of `pawl timer ls`. */
#include "action.h"

#include <string.h>

#include "cli.h"
#include "fail.h"
#include "suggest.h"

const void *cli_action_find(const cli_args *args, const void *actions, size_t count, size_t size,
                            const char *usage, pawl_error *err)
{
    const char *word = args->words.count > 0 ? args->words.items[0] : NULL;
    cli_suggestion near = {.given = word};

    for (size_t i = 0; word && i < count; i++) {
        const char *name;
        const char *action = (const char *)actions + i * size;
        memcpy(&name, action, sizeof name);
        if (strcmp(word, name) == 0)
            return action;
        cli_suggest(&near, name);
    }
    if (near.best)
        cli_fail(err, PAWL_E_INVALID, "there is no '%s %s'; did you mean '%s'?", args->verb->name,
                 word, near.best);
    else
        cli_fail(err, PAWL_E_INVALID, "%s", usage);
    return NULL;
}
