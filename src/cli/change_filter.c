/* src/cli/change_filter.c - changing all messages that match a filter. */
#include <stdio.h>

#include "change.h"
#include "confirm.h"
#include "database.h"
#include "fail.h"
#include "listing.h"
#include "output.h"
#include "selection.h"
#include "view.h"

/* How many --dry-run shows; it counts all. */
#define SHOWN 20

static pawl_status read_states(const cli_change *change, const cli_change_settings *own,
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
        return cli_fail(err, PAWL_E_INVALID, "%s works on %s messages only", change->verb, allowed);
    *ret_states = states;
    return PAWL_OK;
}

static pawl_status make_filter(const cli_change *change, const cli_change_settings *own,
                               pawl_store *store, pawl_filter *ret_filter, pawl_error *err)
{
    pawl_filter filter = PAWL_FILTER_INIT;
    pawl_status st = read_states(change, own, &filter.states, err);

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

typedef struct sample {
    size_t count;
    pawl_wall now;
    cli_table *table;
    json_t *array;
} sample;

static bool count_one(void *context, const pawl_message *message)
{
    sample *seen = context;

    if (seen->count++ < SHOWN) {
        cli_view_row(seen->table, message, seen->now);
        json_array_append_new(seen->array, cli_view_json(message));
    }
    return true;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void show_sample(const cli_change *change, const cli_args *args, const sample *seen)
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
    printf("%zu message%s would be %s.\n", seen->count, plural(seen->count), change->done);
}

static pawl_status apply(const cli_change *change, const cli_args *args, pawl_store *store,
                         const pawl_filter *filter, pawl_error *err)
{
    size_t changed = 0;
    pawl_status st = change->matching(store, filter, &changed, err);

    if (st != PAWL_OK && changed > 0)
        cli_note("%zu message%s %s before this failed:", changed, plural(changed), change->done);
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        cli_json_print(stdout, json_pack("{s:s, s:b, s:I}", "verb", change->verb, "dry_run", 0,
                                         "changed", (json_int_t)changed));
    else
        printf("%zu message%s %s.\n", changed, plural(changed), change->done);
    return PAWL_OK;
}

/* Count, and either show what was found or ask. *ret_go: the change is wanted. */
static pawl_status preview(const cli_change *change, const cli_args *args, pawl_store *store,
                           const pawl_filter *filter, bool *ret_go, pawl_error *err)
{
    const cli_change_settings *own = args->settings;
    CLI_AUTO(cli_table) table = cli_view_table();
    CLI_AUTO_FREE char *question = NULL;
    sample seen = {.table = table, .array = json_array()};
    pawl_status st = pawl_store_now(store, &seen.now, err);

    if (st == PAWL_OK)
        st = cli_listing_walk(store, filter, count_one, &seen, err);
    *ret_go = false;
    if (st == PAWL_OK && own->dry_run) {
        show_sample(change, args, &seen);
    } else if (st == PAWL_OK && seen.count == 0) {
        *ret_go = true; /* says "0 messages", without a question */
    } else if (st == PAWL_OK) {
        question = cli_print("%s %zu message%s?", change->title, seen.count, plural(seen.count));
        *ret_go = cli_confirm(question);
        if (!*ret_go)
            st = cli_fail(err, PAWL_E_EMPTY, "nothing was changed");
    }
    json_decref(seen.array);
    return st;
}

pawl_status cli_change_filter(const cli_change *change, const cli_args *args, pawl_error *err)
{
    const cli_change_settings *own = args->settings;
    CLI_AUTO(pawl_store) store = NULL;
    pawl_filter filter;
    unsigned states;
    bool go = true;
    pawl_status st = read_states(change, own, &states, err);

    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = make_filter(change, own, store, &filter, err);
    if (st == PAWL_OK && (own->dry_run || !own->yes))
        st = preview(change, args, store, &filter, &go, err);
    if (st == PAWL_OK && go)
        st = apply(change, args, store, &filter, err);
    return st;
}
