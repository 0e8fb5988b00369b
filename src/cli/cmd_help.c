/* src/cli/cmd_help.c - pawl help. */
#include "cli.h"
#include "fail.h"
#include "help.h"
#include "suggest.h"

static pawl_status run(const cli_args *args, pawl_error *err)
{
    const char *name = args->words.count > 0 ? args->words.items[0] : NULL;
    const cli_verb *verb = name ? cli_verb_find(name) : NULL;
    cli_suggestion nearest = {name, NULL, 0};

    if (args->words.count > 1)
        return cli_fail(err, PAWL_E_INVALID, "help explains one verb at a time");
    if (name && !verb) {
        for (size_t i = 0; cli_verbs[i]; i++)
            cli_suggest(&nearest, cli_verbs[i]->name);
        return cli_fail(err, PAWL_E_INVALID, "there is no verb '%s'%s%s%s", name,
                        nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
                        nearest.best ? "'?" : "");
    }
    cli_help_print(verb, stdout);
    return PAWL_OK;
}

const cli_verb cli_verb_help = {
    .name = "help",
    .usage = "[VERB]",
    .summary = "explain a verb",
    .about = "Prints the same text as 'pawl VERB --help'; without a verb, the list of verbs.",
    .examples = "  pawl help\n  pawl help send",
    .no_database = true,
    .run = run,
};
