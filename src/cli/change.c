/* src/cli/change.c - what retry, cancel and purge share: options, and which way to go. */
#include "change.h"
#include "confirm.h"
#include "fail.h"
#include "selection.h"
#include "when.h"

#define FIELD(field) offsetof(cli_change_settings, field)
const cli_option cli_change_options[CLI_CHANGE_OPTION_COUNT] = {
    {"state", "STATES", "those in these states; a comma list, or repeated", CLI_TEXTS, 's',
     FIELD(states), 0, 0},
    {"topic", "TOPIC", "those of this topic", CLI_TEXT, 't', FIELD(topic), 0, 0},
    {"correlation", "TEXT", "those with this correlation id", CLI_TEXT, 0, FIELD(correlation), 0,
     0},
    {"older-than", "TIME", "those sent longer ago than this: 12h, 7d", CLI_SPAN, 0,
     FIELD(older_than_ms), 1, CLI_CENTURY_MS},
    {"all", NULL, "all of them", CLI_FLAG, 0, FIELD(all), 0, 0},
    {"dry-run", NULL, "show which and how many, and change nothing", CLI_FLAG, 'n', FIELD(dry_run),
     0, 0},
    {"yes", NULL, "do not ask", CLI_FLAG, 'y', FIELD(yes), 0, 0},
};

const cli_exit cli_change_exits[CLI_CHANGE_EXIT_COUNT] = {
    {PAWL_E_EMPTY, "a message named by id was not in a state this works on, or you said no"},
    {PAWL_E_NOT_FOUND, "a message named by id is not there; the others were still changed"},
};

pawl_status cli_change_run(const cli_change *change, const cli_args *args, pawl_error *err)
{
    const cli_change_settings *own = args->settings;
    bool filtered = own->states.count > 0 || own->topic || own->correlation ||
                    own->older_than_ms > 0 || own->all;
    pawl_status st;

    if (filtered && args->words.count > 0)
        return cli_fail(err, PAWL_E_INVALID, "name messages by id or by a filter, not both");
    if (!filtered && args->words.count == 0)
        return cli_fail(err, PAWL_E_INVALID,
                        "which messages? Give ids, or --topic, --state, --correlation, "
                        "--older-than or --all");
    if (!own->dry_run && !own->yes) {
        st = cli_confirm_possible(change->verb, err);
        if (st != PAWL_OK)
            return st;
    }
    return filtered ? cli_change_filter(change, args, err) : cli_change_ids(change, args, err);
}
