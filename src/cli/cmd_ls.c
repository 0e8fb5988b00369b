/* src/cli/cmd_ls.c - pawl ls: list messages. */
#include <inttypes.h>
#include <stdio.h>

#include "cli.h"
#include "database.h"
#include "fail.h"
#include "listing.h"
#include "output.h"
#include "selection.h"
#include "view.h"

typedef struct settings {
    cli_texts states;
    const char *topic;
    const char *correlation;
    int64_t limit;
    int64_t before;
} settings;

static const settings defaults = {.limit = 50};

typedef struct gathering {
    json_t *array;    /* with --json */
    cli_table *table; /* otherwise */
    pawl_wall now;
    int64_t wanted;
    int64_t count;
    int64_t last_id;
    bool more;
} gathering;

static bool gather(void *context, const pawl_message *message)
{
    gathering *to = context;

    if (to->count == to->wanted) {
        to->more = true;
        return false;
    }
    if (to->array)
        json_array_append_new(to->array, cli_view_json(message));
    else
        cli_view_row(to->table, message, to->now);
    to->last_id = pawl_message_work_id(message).value;
    to->count++;
    return true;
}

static void print(const gathering *found)
{
    if (found->count == 0) {
        fputs("No messages match.\n", stderr);
        return;
    }
    cli_table_print(found->table, stdout);
    if (found->more) {
        fflush(stdout);
        fprintf(stderr, "%sMore: add --before %" PRId64 " or a larger --limit.%s\n",
                cli_style(stderr, CLI_DIM), found->last_id, cli_style(stderr, CLI_PLAIN));
    }
}

static pawl_status list(const cli_args *args, const pawl_filter *filter, pawl_error *err)
{
    const settings *own = args->settings;
    CLI_AUTO(pawl_store) store = NULL;
    CLI_AUTO(cli_table) table = cli_view_table();
    gathering found = {.table = table, .wanted = own->limit};
    pawl_status st = cli_database_open(args, &store, err);

    if (st == PAWL_OK)
        st = pawl_store_now(store, &found.now, err);
    if (st != PAWL_OK)
        return st;
    found.array = args->common.json ? json_array() : NULL;
    st = cli_listing_walk(store, filter, gather, &found, err);
    if (st != PAWL_OK)
        json_decref(found.array);
    else if (found.array)
        cli_json_print(stdout, found.array);
    else
        print(&found);
    return st;
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    const settings *own = args->settings;
    pawl_filter filter = PAWL_FILTER_INIT;
    pawl_status st;

    if (args->words.count > 0)
        return cli_fail(err, PAWL_E_INVALID,
                        "ls takes options only; 'pawl show %s' shows one message",
                        args->words.items[0]);
    st = cli_states_parse(&own->states, &filter.states, err);
    if (st != PAWL_OK)
        return st;
    filter.topic = own->topic;
    filter.correlation_id = own->correlation;
    filter.before.value = own->before;
    /* One more than wanted, to know whether there are more. */
    filter.limit = own->limit < 1000 ? (int)own->limit + 1 : 1000;
    return list(args, &filter, err);
}

#define FIELD(field) offsetof(settings, field)
static const cli_option options[] = {
    {"state", "STATES",
     "only these states: ready, in_progress, done, failed, expired, cancelled, or dead for failed "
     "and expired; a comma list, or repeated",
     CLI_TEXTS, 's', FIELD(states), 0, 0},
    {"topic", "TOPIC", "only this topic", CLI_TEXT, 't', FIELD(topic), 0, 0},
    {"correlation", "TEXT", "only this correlation id", CLI_TEXT, 0, FIELD(correlation), 0, 0},
    {"limit", "N", "at most so many (default: 50)", CLI_NUMBER, 0, FIELD(limit), 1, 1000000},
    {"before", "ID", "only work ids below this one: the next page", CLI_NUMBER, 0, FIELD(before), 1,
     INT64_MAX},
};

const cli_verb cli_verb_ls = {
    .name = "ls",
    .usage = "",
    .summary = "list messages, newest first",
    .about = "Shows work id, topic, state, attempts made of attempts allowed, when the message is "
             "due, its lease ends or it finished, its age, and the last error.",
    .examples = "  pawl ls --topic mail\n"
                "  pawl ls --state dead\n"
                "  pawl ls --state ready,in_progress --limit 500 --json",
    .options = options,
    .option_count = CLI_COUNT(options),
    .defaults = &defaults,
    .settings_size = sizeof(settings),
    .run = run,
};
