/* src/cli/cmd_cancel.c - pawl cancel: end messages that are waiting or running. */
#include "change.h"

static const cli_change change = {
    .verb = "cancel",
    .title = "Cancel",
    .done = "cancelled",
    .allowed = 1u << PAWL_STATE_READY | 1u << PAWL_STATE_IN_PROGRESS,
    .usual = 1u << PAWL_STATE_READY | 1u << PAWL_STATE_IN_PROGRESS,
    .by_id = pawl_outbox_cancel,
    .matching = pawl_outbox_cancel_matching,
};

static pawl_status run(const cli_args *args, pawl_error *err)
{
    return cli_change_run(&change, args, err);
}

const cli_verb cli_verb_cancel = {
    .name = "cancel",
    .usage = "[ID...]",
    .summary = "end messages that are waiting or running",
    .about = "Ends messages that are ready or in progress. A worker that has one learns of it when "
             "it next renews its lease; its result is dropped. A filter that names no state means "
             "both. Asks first, unless --yes is given.",
    .examples = "  pawl cancel 12\n  pawl cancel --topic report --state ready --yes\n  pawl cancel "
                "--correlation order-77 --dry-run",
    .options = cli_change_options,
    .option_count = CLI_CHANGE_OPTION_COUNT,
    .settings_size = sizeof(cli_change_settings),
    .exits = cli_change_exits,
    .exit_count = CLI_CHANGE_EXIT_COUNT,
    .run = run,
};
