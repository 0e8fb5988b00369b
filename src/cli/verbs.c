/* src/cli/verbs.c - the list of verbs. */
#include <string.h>

#include "cli.h"

const cli_verb *const cli_verbs[] = {
    &cli_verb_init,
    &cli_verb_migrate,
    &cli_verb_grant,
    &cli_verb_send,
    &cli_verb_work,
    &cli_verb_ls,
    &cli_verb_show,
    &cli_verb_retry,
    &cli_verb_cancel,
    &cli_verb_purge,
    &cli_verb_wake,
    &cli_verb_timer,
    &cli_verb_topic,
    &cli_verb_inbox,
    &cli_verb_lock,
    &cli_verb_lease,
    &cli_verb_job,
    &cli_verb_serve,
    &cli_verb_config,
    &cli_verb_stats,
    &cli_verb_version,
    &cli_verb_help,
    NULL,
};

/* What the same is called elsewhere. */
static const struct {
    const char *name;
    const char *verb;
} aliases[] = {{"redrive", "retry"}, {"requeue", "retry"}};

const cli_verb *cli_verb_find(const char *name)
{
    for (size_t i = 0; i < CLI_COUNT(aliases); i++)
        if (strcmp(aliases[i].name, name) == 0)
            name = aliases[i].verb;
    for (size_t i = 0; cli_verbs[i]; i++)
        if (strcmp(cli_verbs[i]->name, name) == 0)
            return cli_verbs[i];
    return NULL;
}

const cli_option *cli_verb_options(const cli_verb *verb, size_t *ret_count)
{
    if (verb->make_options)
        return verb->make_options(ret_count);
    *ret_count = verb->option_count;
    return verb->options;
}
