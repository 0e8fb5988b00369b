/* src/cli/commands/cmd_messages.c - pawl ls and pawl show: the messages of the store. */
#include <inttypes.h>
#include <stdio.h>

#include "cli.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "message_fields.h"
#include "scope.h"
#include "selection.h"

typedef struct ls_settings {
    cli_texts states;
    const char *topic;
    const char *correlation;
    int64_t limit;
    int64_t before;
} ls_settings;

static const ls_settings ls_defaults = {.limit = 50};

static bool list_message(void *listing, const pawl_message *message)
{
    return cli_listing_add(listing, message, pawl_message_work_id(message).value);
}

static pawl_status list_messages(const cli_args *args, const pawl_outbox_filter *filter,
                                 pawl_error *err)
{
    const ls_settings *own = args->settings;
    PAWLI_AUTO(pawl_store) store = NULL;
    CLI_AUTO_LISTING found = {0};
    pawl_wall now = PAWL_TIME_UNSET;
    pawl_status st = cli_database_open(args, &store, err);

    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    cli_listing_begin(&found, &cli_message_noun, CLI_LISTING_FORM(args), own->limit, now);
    st = cli_messages_walk(store, filter, list_message, &found, err);
    if (st != PAWL_OK)
        return st;
    cli_listing_print(&found, "No messages match.");
    if (found.more)
        cli_listing_hint(&found, CLI_HINT_BEFORE, found.last_id);
    return PAWL_OK;
}

static pawl_status run_ls(const cli_args *args, pawl_error *err)
{
    const ls_settings *own = args->settings;
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_status st;

    if (args->words.count > 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "ls takes options only; 'pawl show %s' shows one message",
                          args->words.items[0]);
    st = cli_states_parse(&own->states, &filter.states, err);
    if (st != PAWL_OK)
        return st;
    filter.topic = own->topic;
    filter.correlation_id = own->correlation;
    filter.after = cli_page_before(own->before);
    /* One more than wanted, to know whether there are more. */
    filter.limit = own->limit < 1000 ? (int)own->limit + 1 : 1000;
    return list_messages(args, &filter, err);
}

#define FIELD(field) offsetof(ls_settings, field)
static const cli_option ls_options[] = {
    {"state", "STATES",
     "only these states: scheduled, ready, running, done, failed, expired, cancelled, or dead for "
     "failed "
     "and expired; comma-separated, or repeated",
     CLI_TEXTS, 's', FIELD(states), 0, 0},
    {"topic", "TOPIC", "only this topic", CLI_TEXT, 't', FIELD(topic), 0, 0},
    {"correlation", "TEXT", "only this correlation id", CLI_TEXT, 0, FIELD(correlation), 0, 0},
    {"limit", "N", "at most N (default: 50)", CLI_NUMBER, 0, FIELD(limit), 1, 1000000},
    {"before", "ID", "only work ids below this one (next page)", CLI_NUMBER, 0, FIELD(before), 1,
     INT64_MAX},
};

const cli_verb cli_verb_ls = {
    .name = "ls",
    .usage = "",
    .summary = "list messages, newest first",
    .about = "Shows work id, topic, state, attempts made and allowed, the time at which the "
             "message is due, its lease expires or it finished, its age, and the last error.",
    .examples = "  pawl ls --topic mail\n"
                "  pawl ls --state dead\n"
                "  pawl ls --state ready,running --limit 500 --json",
    .options = ls_options,
    .option_count = PAWLI_COUNT(ls_options),
    .defaults = &ls_defaults,
    .settings_size = sizeof(ls_settings),
    .run = run_ls,
};

typedef struct show_settings {
    bool payload;
} show_settings;

static pawl_status print_message(const cli_args *args, bool payload_only, pawl_store *store,
                                 const pawl_message *message, pawl_error *err)
{
    pawl_wall now;
    pawl_status st;

    if (payload_only) {
        size_t size;
        const void *payload = pawl_message_payload(message, &size);
        fwrite(payload, 1, size, stdout);
        return PAWL_OK;
    }
    if (args->common.json) {
        cli_json_print(stdout, cli_message_full_json(message));
        return PAWL_OK;
    }
    st = pawl_store_now(store, &now, err);
    if (st == PAWL_OK)
        cli_message_details(message, now);
    return st;
}

pawl_status cli_show_one(const char *verb, const cli_args *args, bool payload_only, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    PAWLI_AUTO(pawl_messages) one = NULL;
    cli_id id;
    pawl_status st;

    if (args->words.count != 1)
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s needs a work id or a message id, for example 'pawl %s 12'", verb,
                          verb);
    if (payload_only && args->common.json)
        return pawli_fail(err, PAWL_E_INVALID,
                          "--payload writes raw bytes and --json a document; choose one");
    st = cli_id_parse(args->words.items[0], &id, err);
    if (st != PAWL_OK)
        return st;
    st = cli_database_open(args, &store, err);
    if (st != PAWL_OK)
        return st;
    st = cli_id_find(store, &id, &one, err);
    if (st != PAWL_OK)
        return st;
    return print_message(args, payload_only, store, pawl_messages_at(one, 0), err);
}

static pawl_status run_show(const cli_args *args, pawl_error *err)
{
    const show_settings *own = args->settings;

    return cli_show_one("show", args, own->payload, err);
}

static const cli_option show_options[] = {
    {"payload", NULL, "write only the payload, as bytes, to stdout", CLI_FLAG, 0,
     offsetof(show_settings, payload), 0, 0},
};
static const cli_exit show_exits[] = {{PAWL_E_NOT_FOUND, "there is no such message"}};

const cli_verb cli_verb_show = {
    .name = "show",
    .usage = "ID",
    .summary = "show one message in full",
    .about = "A number is a work id, a UUID is a message id. A payload that is not text is "
             "shown as its size and first bytes.",
    .examples = "  pawl show 12\n"
                "  pawl show 0192d3c4-7b1e-7c3a-9f57-3b1f6f0c2a11 --json\n"
                "  pawl show 12 --payload > picture.png",
    .options = show_options,
    .option_count = PAWLI_COUNT(show_options),
    .settings_size = sizeof(show_settings),
    .exits = show_exits,
    .exit_count = PAWLI_COUNT(show_exits),
    .run = run_show,
};
