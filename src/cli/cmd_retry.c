/* src/cli/cmd_retry.c - pawl retry: make dead letters ready again. */
#include "change.h"

static const cli_change change = {
    .verb = "retry",
    .title = "Retry",
    .done = "retried",
    .allowed = 1u << PAWL_STATE_FAILED | 1u << PAWL_STATE_EXPIRED | 1u << PAWL_STATE_CANCELLED,
    .usual = 1u << PAWL_STATE_FAILED | 1u << PAWL_STATE_EXPIRED,
    .by_id = pawl_outbox_redrive,
    .matching = pawl_outbox_redrive_matching,
};

static pawl_status run(const cli_args *args, pawl_error *err)
{
    return cli_change_run(&change, args, err);
}

const cli_verb cli_verb_retry = {
    .name = "retry",
    .usage = "[ID...]",
    .summary = "make dead letters ready again",
    .about = "Failed, expired and cancelled messages become ready at once, with the same message "
             "id, no attempts made and as long to live as at first. A filter that names no state "
             "means failed and expired. Asks first, unless --yes is given. 'redrive' and 'requeue' "
             "are other names of this verb.",
    .examples = "  pawl retry 12 15 --yes\n  pawl retry --topic mail --dry-run\n  pawl retry "
                "--state cancelled --older-than 1h",
    .options = cli_change_options,
    .option_count = CLI_CHANGE_OPTION_COUNT,
    .settings_size = sizeof(cli_change_settings),
    .exits = cli_change_exits,
    .exit_count = CLI_CHANGE_EXIT_COUNT,
    .run = run,
};
