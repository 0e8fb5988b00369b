/* src/cli/commands/cmd_change.c - pawl retry, cancel and purge: change messages by id or by filter.
 */
#include <stdio.h>

#include "cmd_change.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "message_fields.h"
#include "scope.h"
#include "selection.h"
#include "units.h"

#define FIELD(field) offsetof(cli_change_settings, field)
const cli_option cli_change_options[CLI_CHANGE_OPTION_COUNT] = {
    {"state", "STATES", "only messages in these states; comma-separated, or repeated", CLI_TEXTS,
     's', FIELD(states), 0, 0},
    {"topic", "TOPIC", "only messages of this topic", CLI_TEXT, 't', FIELD(topic), 0, 0},
    {"correlation", "TEXT", "only messages with this correlation id", CLI_TEXT, 0,
     FIELD(correlation), 0, 0},
    {"older-than", "TIME", "only messages enqueued longer ago than this: 12h, 7d", CLI_SPAN, 0,
     FIELD(older_than_ms), 1, CLI_CENTURY_MS},
    {"all", NULL, "all messages in a state that the verb works on", CLI_FLAG, 0, FIELD(all), 0, 0},
    {"dry-run", NULL, "show the messages and their number without changing anything", CLI_FLAG, 'n',
     FIELD(dry_run), 0, 0},
    {"yes", NULL, "do not ask for confirmation", CLI_FLAG, 'y', FIELD(yes), 0, 0},
};

const cli_exit cli_change_exits[CLI_CHANGE_EXIT_COUNT] = {
    {PAWL_E_EMPTY, "a message given by id was in another state, or you did not confirm"},
    {PAWL_E_NOT_FOUND, "a message given by id does not exist; the others were changed"},
};

pawl_status cli_change_run(const cli_change *change, const cli_args *args, pawl_error *err)
{
    const cli_change_settings *own = args->settings;
    bool filtered = own->states.count > 0 || own->topic || own->correlation ||
                    own->older_than_ms > 0 || own->all;
    pawl_status st;

    if (filtered && args->words.count > 0)
        return pawli_fail(err, PAWL_E_INVALID, "give ids or a filter, not both");
    if (!filtered && args->words.count == 0)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "no messages given; use ids, or --topic, --state, --correlation, --older-than or "
            "--all");
    if (!own->dry_run && !own->yes) {
        st = cli_confirm_possible(change->verb, err);
        if (st != PAWL_OK)
            return st;
    }
    return filtered ? cli_change_filter(change, args, err) : cli_change_ids(change, args, err);
}

/* How many --dry-run shows; it counts all. */
#define SHOWN 20

static pawl_status read_filter_states(const cli_change *change, const cli_change_settings *own,
                                      unsigned *ret_states, pawl_error *err)
{
    unsigned states = change->usual;
    char allowed[80];
    pawl_status st;

    if (own->states.count > 0) {
        st = cli_states_parse(&own->states, &states, err);
        if (st != PAWL_OK)
            return st;
    }
    cli_states_text(change->allowed, allowed, sizeof allowed);
    if (states & ~change->allowed)
        return pawli_fail(err, PAWL_E_INVALID, "%s works on %s messages only", change->verb,
                          allowed);
    *ret_states = states;
    return PAWL_OK;
}

static pawl_status make_change_filter(const cli_change *change, const cli_change_settings *own,
                                      pawl_store *store, pawl_outbox_filter *ret_filter,
                                      pawl_error *err)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_status st = read_filter_states(change, own, &filter.states, err);

    if (st != PAWL_OK)
        return st;
    filter.topic = own->topic;
    filter.correlation_id = own->correlation;
    if (own->older_than_ms > 0) {
        st = pawl_store_now(store, &filter.created_before, err);
        filter.created_before.us -= own->older_than_ms * 1000;
    }
    *ret_filter = filter;
    return st;
}

typedef struct filter_sample {
    size_t count;
    pawl_wall now;
    cli_table *table;
    json_t *array;
} filter_sample;

static bool count_sample(void *context, const pawl_message *message)
{
    filter_sample *seen = context;

    if (seen->count++ < SHOWN) {
        cli_noun_row(&cli_message_noun, seen->table, message, seen->now);
        json_array_append_new(seen->array, cli_noun_json(&cli_message_noun, message));
    }
    return true;
}

static const char *plural_s(size_t count)
{
    return count == 1 ? "" : "s";
}

static void show_sample(const cli_change *change, const cli_args *args, const filter_sample *seen)
{
    if (args->common.json) {
        cli_json_print(stdout,
                       json_pack("{s:s, s:b, s:I, s:O}", "verb", change->verb, "dry_run", 1,
                                 "matching", (json_int_t)seen->count, "messages", seen->array));
        return;
    }
    if (seen->count > 0)
        cli_table_print(seen->table, stdout);
    if (seen->count > SHOWN)
        printf("... and %zu more\n", seen->count - SHOWN);
    printf("%zu message%s would be %s.\n", seen->count, plural_s(seen->count), change->done);
}

static pawl_status apply_filter(const cli_change *change, const cli_args *args, pawl_store *store,
                                const pawl_outbox_filter *filter, pawl_error *err)
{
    size_t changed = 0;
    pawl_status st = change->matching(store, filter, &changed, err);

    if (st != PAWL_OK && changed > 0)
        cli_note("%zu message%s %s before this failed:", changed, plural_s(changed), change->done);
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        cli_json_print(stdout, json_pack("{s:s, s:b, s:I}", "verb", change->verb, "dry_run", 0,
                                         "changed", (json_int_t)changed));
    else
        printf("%zu message%s %s.\n", changed, plural_s(changed), change->done);
    return PAWL_OK;
}

/* Count, and either show what was found or ask. *ret_go: the change is wanted. */
static pawl_status preview_filter(const cli_change *change, const cli_args *args, pawl_store *store,
                                  const pawl_outbox_filter *filter, bool *ret_go, pawl_error *err)
{
    const cli_change_settings *own = args->settings;
    PAWLI_AUTO(cli_table) table = cli_noun_table(&cli_message_noun);
    PAWLI_AUTO_FREE char *question = NULL;
    filter_sample seen = {.table = table, .array = json_array()};
    pawl_status st = pawl_store_now(store, &seen.now, err);

    if (st == PAWL_OK)
        st = cli_messages_walk(store, filter, count_sample, &seen, err);
    *ret_go = false;
    if (st == PAWL_OK && own->dry_run) {
        show_sample(change, args, &seen);
    } else if (st == PAWL_OK && seen.count == 0) {
        *ret_go = true; /* says "0 messages", without a question */
    } else if (st == PAWL_OK) {
        question = cli_print("%s %zu message%s?", change->title, seen.count, plural_s(seen.count));
        *ret_go = cli_confirm(question);
        if (!*ret_go)
            st = pawli_fail(err, PAWL_E_EMPTY, "nothing was changed");
    }
    json_decref(seen.array);
    return st;
}

pawl_status cli_change_filter(const cli_change *change, const cli_args *args, pawl_error *err)
{
    const cli_change_settings *own = args->settings;
    PAWLI_AUTO(pawl_store) store = NULL;
    pawl_outbox_filter filter;
    unsigned states;
    bool go = true;
    pawl_status st = read_filter_states(change, own, &states, err);

    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = make_change_filter(change, own, store, &filter, err);
    if (st == PAWL_OK && (own->dry_run || !own->yes))
        st = preview_filter(change, args, store, &filter, &go, err);
    if (st == PAWL_OK && go)
        st = apply_filter(change, args, store, &filter, err);
    return st;
}

static const cli_change retry_change = {
    .verb = "retry",
    .title = "Retry",
    .done = "retried",
    .allowed = 1u << PAWL_STATE_FAILED | 1u << PAWL_STATE_EXPIRED | 1u << PAWL_STATE_CANCELLED,
    .usual = 1u << PAWL_STATE_FAILED | 1u << PAWL_STATE_EXPIRED,
    .by_id = pawl_outbox_retry,
    .matching = pawl_outbox_retry_matching,
};

static pawl_status run_retry(const cli_args *args, pawl_error *err)
{
    return cli_change_run(&retry_change, args, err);
}

const cli_verb cli_verb_retry = {
    .name = "retry",
    .usage = "[ID...]",
    .summary = "make dead letters ready again",
    .about = "Failed, expired and cancelled messages become ready at once, with the same "
             "message id, no attempts counted and their full time to live. A filter without "
             "--state selects failed and expired messages. Asks for confirmation unless --yes "
             "is given. 'redrive' and 'requeue' are aliases of this verb.",
    .examples = "  pawl retry 12 15 --yes\n  pawl retry --topic mail --dry-run\n  pawl retry "
                "--state cancelled --older-than 1h",
    .options = cli_change_options,
    .option_count = CLI_CHANGE_OPTION_COUNT,
    .settings_size = sizeof(cli_change_settings),
    .exits = cli_change_exits,
    .exit_count = CLI_CHANGE_EXIT_COUNT,
    .run = run_retry,
};

#define UNFINISHED (1u << PAWL_STATE_SCHEDULED | 1u << PAWL_STATE_READY | 1u << PAWL_STATE_RUNNING)

static const cli_change cancel_change = {
    .verb = "cancel",
    .title = "Cancel",
    .done = "cancelled",
    .allowed = UNFINISHED,
    .usual = UNFINISHED,
    .by_id = pawl_outbox_cancel,
    .matching = pawl_outbox_cancel_matching,
};

static pawl_status run_cancel(const cli_args *args, pawl_error *err)
{
    return cli_change_run(&cancel_change, args, err);
}

const cli_verb cli_verb_cancel = {
    .name = "cancel",
    .usage = "[ID...]",
    .summary = "cancel messages that are not finished",
    .about = "Cancels messages that are scheduled, ready or running. A worker that is "
             "processing one detects this when it next renews the lease, and its result is "
             "discarded. A filter without --state selects all of these. Asks for confirmation "
             "unless --yes is given.",
    .examples = "  pawl cancel 12\n  pawl cancel --topic report --state ready --yes\n  pawl cancel "
                "--correlation order-77 --dry-run",
    .options = cli_change_options,
    .option_count = CLI_CHANGE_OPTION_COUNT,
    .settings_size = sizeof(cli_change_settings),
    .exits = cli_change_exits,
    .exit_count = CLI_CHANGE_EXIT_COUNT,
    .run = run_cancel,
};

static const cli_change purge_change = {
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

static pawl_status run_purge(const cli_args *args, pawl_error *err)
{
    return cli_change_run(&purge_change, args, err);
}

const cli_verb cli_verb_purge = {
    .name = "purge",
    .usage = "[ID...]",
    .summary = "delete finished messages permanently",
    .about = "Deletes messages that are done, failed, expired or cancelled, including their "
             "ids: the same message id can be sent again. A filter without --state selects "
             "all of these. Asks for confirmation unless --yes is given.",
    .examples = "  pawl purge --state dead --older-than 30d\n  pawl purge --topic test --all "
                "--dry-run\n  pawl purge 12 --yes",
    .options = cli_change_options,
    .option_count = CLI_CHANGE_OPTION_COUNT,
    .settings_size = sizeof(cli_change_settings),
    .exits = cli_change_exits,
    .exit_count = CLI_CHANGE_EXIT_COUNT,
    .run = run_purge,
};
