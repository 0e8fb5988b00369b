/* src/cli/cmd_purge.c - pawl purge: remove finished messages for good. */
#include "change.h"

static const cli_change change = {
    .verb = "purge",
    .title = "Purge",
    .done = "purged",
    .allowed = 1u << PAWL_STATE_DONE | 1u << PAWL_STATE_FAILED | 1u << PAWL_STATE_EXPIRED |
               1u << PAWL_STATE_CANCELLED,
    .usual = 1u << PAWL_STATE_DONE | 1u << PAWL_STATE_FAILED | 1u << PAWL_STATE_EXPIRED |
             1u << PAWL_STATE_CANCELLED,
    .by_id = pawl_outbox_purge,
    .matching = pawl_outbox_purge_matching,
};

static pawl_status run(const cli_args *args, pawl_error *err)
{
    return cli_change_run(&change, args, err);
}

const cli_verb cli_verb_purge = {
    .name = "purge",
    .usage = "[ID...]",
    .summary = "remove finished messages for good",
    .about = "Removes messages that are done, failed, expired or cancelled, and forgets their ids: "
             "the same message id can then be sent again. A filter that names no state means all "
             "of these. Asks first, unless --yes is given.",
    .examples = "  pawl purge --state dead --older-than 30d\n  pawl purge --topic test --all "
                "--dry-run\n  pawl purge 12 --yes",
    .options = cli_change_options,
    .option_count = CLI_CHANGE_OPTION_COUNT,
    .settings_size = sizeof(cli_change_settings),
    .exits = cli_change_exits,
    .exit_count = CLI_CHANGE_EXIT_COUNT,
    .run = run,
};
