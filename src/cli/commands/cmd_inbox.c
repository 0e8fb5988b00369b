/* src/cli/commands/cmd_inbox.c - pawl inbox: what was received, and what is dead of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <pawl/inbox_records.h>

#include "cli.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "fields.h"
#include "scope.h"
#include "selection.h"

PAWLI_AUTO_DEFINE(pawl_inbox_records, pawl_inbox_records_free);

typedef struct inbox_settings {
    cli_texts states;
    const char *source;
    int64_t limit;
    int64_t before;
    bool response;
    bool all;
    bool yes;
    bool dry_run;
} inbox_settings;

static const inbox_settings inbox_defaults = {.limit = 50};

/* ---- the fields of a record ---- */

/* The process that was processing it has died. */
static bool record_is_stuck(const pawl_inbox_record *record, pawl_wall now)
{
    return record->state == PAWL_INBOX_PROCESSING && record->lease_until.us <= now.us;
}

static void read_record_state(const void *from, pawl_wall now, cli_value *to)
{
    const pawl_inbox_record *record = from;

    (void)now;
    cli_value_text(to, pawl_inbox_state_name(record->state));
    to->color = record->state == PAWL_INBOX_DONE         ? CLI_GREEN
                : record->state == PAWL_INBOX_DEAD       ? CLI_RED
                : record->state == PAWL_INBOX_PROCESSING ? CLI_BLUE
                                                         : CLI_PLAIN;
}

static void read_state_cell(const void *record, pawl_wall now, cli_value *to)
{
    read_record_state(record, now, to);
    if (record_is_stuck(record, now))
        cli_value_format(to, CLI_YELLOW, "%s (stuck)", to->text);
}

static void read_state_words(const void *record, pawl_wall now, cli_value *to)
{
    read_record_state(record, now, to);
    if (record_is_stuck(record, now))
        cli_value_format(to, to->color, "%s (stuck: the process that was processing it has died)",
                         to->text);
}

CLI_FIELD_READ(pawl_inbox_record, read_attempts_cell,
               cli_value_format(to, CLI_PLAIN, "%d/%d", it->attempts, it->max_attempts));
CLI_FIELD_READ(pawl_inbox_record, read_attempts_words,
               cli_value_format(to, CLI_PLAIN, "%d of %d%s", it->attempts, it->max_attempts,
                                it->suspect ? " (the first unfinished attempt does not count)"
                                            : ""));
CLI_FIELD_READ(pawl_inbox_record, read_fence_of_claim,
               if (it->state == PAWL_INBOX_PROCESSING) cli_value_number(to, it->fence));

static void read_hash(const void *from, pawl_wall now, cli_value *to)
{
    const pawl_inbox_record *record = from;

    (void)now;
    for (size_t i = 0; record->hash && i < 32; i++)
        snprintf(to->room + 2 * i, 3, "%02x", record->hash[i]);
    cli_value_text(to, record->hash ? to->room : NULL);
}

#define RECORD(kind, member) CLI_FIELD_##kind, offsetof(pawl_inbox_record, member)
static const cli_field record_fields[] = {
    {"number", RECORD(INT64, number), .column = {1, "NUMBER", true}},
    {"source", RECORD(TEXT, source), .details = {1, "source"}, .column = {2, "SOURCE"}},
    {"id", RECORD(TEXT, id), .details = {2, "id"}, .column = {3, "ID"}},
    {"state", .read = read_record_state},
    {NULL, .read = read_state_words, .details = {3, "state"}},
    {NULL, .read = read_state_cell, .column = {4, "STATE"}},
    {"endpoint", RECORD(TEXT, endpoint), .details = {6, "endpoint"}},
    {"attempts", RECORD(INT, attempts)},
    {"max_attempts", RECORD(INT, max_attempts)},
    {NULL, .read = read_attempts_words, .details = {4, "attempts"}},
    {NULL, .read = read_attempts_cell, .column = {5, "ATTEMPTS", true}},
    {"suspect", RECORD(BOOL, suspect)},
    {"duplicates", RECORD(INT64, duplicates), .details = {5, "duplicates"},
     .column = {6, "DUPLICATES", true}},
    {"fence", RECORD(INT64, fence)},
    {NULL, .read = read_fence_of_claim, .details = {8, "fence"}},
    {"lease_until", RECORD(TIME, lease_until), .details = {9, "lease ends"}},
    {"first_seen", RECORD(TIME, first_seen), .details = {10, "first seen"}},
    {"last_seen", RECORD(TIME, last_seen), .details = {11, "last seen"},
     .column = {7, "LAST SEEN"}},
    {"processed_at", RECORD(TIME, processed_at), .details = {12, "processed"}},
    {"expires_at", RECORD(TIME, expires_at), .details = {13, "expires"}},
    {"hash", .read = read_hash, .details = {14, "SHA-256"}},
    {"error", RECORD(ERROR, error), .details = {7, "error"}, .column = {8, "ERROR"}},
};
static const cli_noun record_noun = CLI_NOUN(record_fields);

/* ---- retry and purge: dead records, by key or all of them ---- */

typedef struct inbox_change {
    const char *name;     /* "retry" */
    const char *question; /* with a %s for "of shop" */
    const char *done;
    const char *would; /* "3 messages would be ..." */
    pawl_status (*call)(pawl_store *store, const char *source, const char *id, size_t *ret_changed,
                        pawl_error *err);
} inbox_change;

/* All of them, or all of a source: more than the user has seen, so it needs a confirmation. */
static pawl_status confirm_inbox_change(const inbox_change *what, const inbox_settings *own,
                                        pawl_error *err)
{
    char question[400];
    pawl_status st;

    if (own->yes)
        return PAWL_OK;
    st = cli_confirm_possible(what->name, err);
    if (st != PAWL_OK)
        return st;
    snprintf(question, sizeof question, "%s all dead messages%s%s?", what->question,
             own->source ? " of " : "", own->source ? own->source : "");
    if (!cli_confirm(question))
        return pawli_fail(err, PAWL_E_EMPTY, "nothing was changed");
    return PAWL_OK;
}

/* How many are dead of those; of one, 0 or 1. */
static pawl_status count_dead_records(pawl_store *store, const char *source, const char *id,
                                      size_t *ret_count, pawl_error *err)
{
    PAWLI_AUTO(pawl_inbox_records) one = NULL;
    pawl_inbox_filter filter = PAWL_INBOX_FILTER_INIT;
    pawl_status st = PAWL_OK;

    *ret_count = 0;
    if (id) {
        st = pawl_inbox_get(store, source, id, &one, err);
        if (st == PAWL_OK)
            *ret_count = pawl_inbox_records_at(one, 0)->state == PAWL_INBOX_DEAD;
        return st == PAWL_E_NOT_FOUND ? PAWL_OK : st;
    }
    filter.states = 1u << PAWL_INBOX_DEAD;
    filter.source = source;
    filter.limit = 1000;
    do {
        PAWLI_AUTO(pawl_inbox_records) page = NULL;
        st = pawl_inbox_list(store, &filter, &page, &filter.after, err);
        *ret_count += st == PAWL_OK ? pawl_inbox_records_count(page) : 0;
    } while (st == PAWL_OK && !PAWL_PAGE_IS_NONE(filter.after));
    return st;
}

static void report_inbox_change(const inbox_change *what, const cli_args *args, size_t count,
                                bool dry_run)
{
    if (args->common.json && dry_run)
        cli_json_print(stdout,
                       json_pack("{s:b, s:I}", "dry_run", 1, "matching", (json_int_t)count));
    else if (args->common.json)
        cli_json_print(stdout, json_pack("{s:I}", "changed", (json_int_t)count));
    else if (dry_run)
        printf("%zu message%s would be %s\n", count, count == 1 ? "" : "s", what->would);
    else
        printf("%s %zu message%s\n", what->done, count, count == 1 ? "" : "s");
}

static pawl_status change_dead_records(const inbox_change *what, const cli_args *args,
                                       pawl_store *store, pawl_error *err)
{
    const inbox_settings *own = args->settings;
    bool by_key = args->words.count == 3;
    const char *source = by_key ? args->words.items[1] : own->source;
    const char *id = by_key ? args->words.items[2] : NULL;
    size_t changed = 0;
    pawl_status st;

    if ((args->words.count != 1 && !by_key) || by_key == (own->all || own->source))
        return pawli_fail(
            err, PAWL_E_INVALID,
            "no messages given; use 'pawl inbox %s SOURCE ID', or give --source or --all",
            what->name);
    st = by_key || own->dry_run ? PAWL_OK : confirm_inbox_change(what, own, err);
    if (st == PAWL_OK && own->dry_run)
        st = count_dead_records(store, source, id, &changed, err);
    else if (st == PAWL_OK)
        st = what->call(store, source, id, &changed, err);
    if (st != PAWL_OK)
        return st;
    if (by_key && changed == 0)
        return pawli_fail(err, PAWL_E_EMPTY, "there is no dead message %s of %s", id, source);
    report_inbox_change(what, args, changed, own->dry_run);
    return PAWL_OK;
}

static pawl_status retry_records(const cli_args *args, pawl_store *store, pawl_error *err)
{
    static const inbox_change retry = {"retry", "Retry", "retried", "retried", pawl_inbox_retry};

    return change_dead_records(&retry, args, store, err);
}

static pawl_status purge_records(const cli_args *args, pawl_store *store, pawl_error *err)
{
    static const inbox_change purge = {"purge", "Purge", "purged", "purged", pawl_inbox_purge};

    return change_dead_records(&purge, args, store, err);
}

/* ---- ls ---- */

static pawl_status parse_inbox_states(const cli_texts *texts, unsigned *ret_states, pawl_error *err)
{
    unsigned states = 0;

    for (size_t i = 0; i < texts->count; i++) {
        for (const char *at = texts->items[i]; *at;) {
            size_t length = strcspn(at, ",");
            unsigned bit = 0;
            for (unsigned state = 0; state <= PAWL_INBOX_DEAD; state++) {
                const char *name = pawl_inbox_state_name((pawl_inbox_state)state);
                if (strlen(name) == length && strncmp(name, at, length) == 0)
                    bit = 1u << state;
            }
            if (bit == 0)
                return pawli_fail(err, PAWL_E_INVALID,
                                  "there is no state '%.*s' in the inbox; the states are seen, "
                                  "processing, done and dead",
                                  (int)length, at);
            states |= bit;
            at += length + (at[length] == ',');
        }
    }
    *ret_states = states;
    return PAWL_OK;
}

static pawl_status list_records(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const inbox_settings *own = args->settings;
    CLI_AUTO_LISTING found = {0};
    pawl_inbox_filter filter = PAWL_INBOX_FILTER_INIT;
    pawl_wall now = PAWL_TIME_UNSET;
    pawl_status st = parse_inbox_states(&own->states, &filter.states, err);

    if (st == PAWL_OK && args->words.count > 1)
        st = pawli_fail(err, PAWL_E_INVALID, "inbox ls takes no argument '%s'",
                        args->words.items[1]);
    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    cli_listing_begin(&found, &record_noun, CLI_LISTING_FORM(args), own->limit, now);
    filter.source = own->source;
    filter.after = cli_page_before(own->before);
    /* One more than wanted, to know whether there are more. */
    filter.limit = own->limit < 1000 ? (int)own->limit + 1 : 1000;
    do {
        PAWLI_AUTO(pawl_inbox_records) page = NULL;
        st = pawl_inbox_list(store, &filter, &page, &filter.after, err);
        for (size_t i = 0; st == PAWL_OK && i < pawl_inbox_records_count(page); i++) {
            const pawl_inbox_record *record = pawl_inbox_records_at(page, i);
            if (!cli_listing_add(&found, record, record->number))
                break;
        }
    } while (st == PAWL_OK && !PAWL_PAGE_IS_NONE(filter.after) && !found.more);
    if (st != PAWL_OK)
        return st;
    cli_listing_print(&found, "No messages match.");
    if (found.more)
        cli_listing_hint(&found, CLI_HINT_BEFORE, found.last_id);
    return PAWL_OK;
}

/* ---- show ---- */

static pawl_status show_record(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const inbox_settings *own = args->settings;
    PAWLI_AUTO(pawl_inbox_records) one = NULL;
    pawl_wall now = PAWL_TIME_UNSET;
    pawl_status st;

    if (args->words.count != 3)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "inbox show needs a source and an id, for example 'pawl inbox show shop 17'");
    st = pawl_inbox_get(store, args->words.items[1], args->words.items[2], &one, err);
    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    const pawl_inbox_record *record = pawl_inbox_records_at(one, 0);
    if (own->response) {
        fwrite(record->response ? record->response : "", 1, record->response_size, stdout);
    } else if (args->common.json) {
        json_t *object = cli_noun_json(&record_noun, record);
        cli_json_bytes(object, "response", record->response, record->response_size);
        cli_json_print(stdout, object);
    } else {
        cli_noun_details(&record_noun, record, now);
        if (record->response)
            cli_details_bytes("response", "--response", record->response, record->response_size);
    }
    return PAWL_OK;
}

/* ---- stats ---- */

static void print_inbox_count(const char *name, int64_t count)
{
    printf("%-12s %s%" PRId64 "\n", name, count >= PAWL_INBOX_COUNT_MAX ? ">= " : "", count);
}

static pawl_status show_inbox_stats(const cli_args *args, pawl_store *store, pawl_error *err)
{
    pawl_inbox_stats found = PAWL_INBOX_STATS_INIT;
    pawl_status st;

    if (args->words.count > 1)
        return pawli_fail(err, PAWL_E_INVALID, "inbox stats takes no argument '%s'",
                          args->words.items[1]);
    st = pawl_inbox_get_stats(store, &found, err);
    if (st != PAWL_OK)
        return st;
    if (args->common.json) {
        json_t *object = json_object();
        cli_json_number(object, "seen", found.seen);
        cli_json_number(object, "processing", found.processing);
        cli_json_number(object, "stuck", found.stuck);
        cli_json_number(object, "done", found.done);
        cli_json_number(object, "dead", found.dead);
        cli_json_print(stdout, object);
        return PAWL_OK;
    }
    print_inbox_count("seen", found.seen);
    print_inbox_count("processing", found.processing);
    print_inbox_count("  stuck", found.stuck);
    print_inbox_count("done", found.done);
    print_inbox_count("dead", found.dead);
    return PAWL_OK;
}

/* ---- which ---- */

typedef struct inbox_subcommand {
    const char *name;
    pawl_status (*run)(const cli_args *args, pawl_store *store, pawl_error *err);
} inbox_subcommand;

static const inbox_subcommand inbox_subcommands[] = {
    {"ls", list_records},       {"show", show_record},       {"retry", retry_records},
    {"purge", purge_records},   {"stats", show_inbox_stats}, {"requeue", retry_records},
    {"redrive", retry_records},
};

static pawl_status run_inbox(const cli_args *args, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    const inbox_subcommand *action =
        CLI_SUBCOMMAND(args, inbox_subcommands,
                       "use 'pawl inbox ls', 'show SOURCE ID', 'retry', 'purge' or 'stats'", err);

    if (!action)
        return PAWL_E_INVALID;
    pawl_status st = cli_database_open(args, &store, err);
    return st == PAWL_OK ? action->run(args, store, err) : st;
}

#define FIELD(field) offsetof(inbox_settings, field)
static const cli_option inbox_options[] = {
    {"state", "STATES",
     "ls: only these states: seen, processing, done, dead; comma-separated, or repeated", CLI_TEXTS,
     's', FIELD(states), 0, 0},
    {"source", "SOURCE", "ls, retry, purge: only of this source", CLI_TEXT, 0, FIELD(source), 0, 0},
    {"limit", "N", "ls: at most N (default: 50)", CLI_NUMBER, 0, FIELD(limit), 1, 1000000},
    {"before", "NUMBER", "ls: only numbers below this one (next page)", CLI_NUMBER, 0,
     FIELD(before), 1, INT64_MAX},
    {"response", NULL, "show: write only the cached response, as bytes, to stdout", CLI_FLAG, 0,
     FIELD(response), 0, 0},
    {"all", NULL, "retry, purge: all dead messages", CLI_FLAG, 0, FIELD(all), 0, 0},
    {"dry-run", NULL, "retry, purge: show the number without changing anything", CLI_FLAG, 'n',
     FIELD(dry_run), 0, 0},
    {"yes", NULL, "retry, purge: do not ask for confirmation", CLI_FLAG, 'y', FIELD(yes), 0, 0},
};
static const cli_exit inbox_exits[] = {
    {PAWL_E_EMPTY, "no such dead message, or you did not confirm"},
    {PAWL_E_NOT_FOUND, "there is no such message in the inbox"},
};

const cli_verb cli_verb_inbox = {
    .name = "inbox",
    .usage = "ls\nshow SOURCE ID\nretry SOURCE ID | --source SOURCE | --all\n"
             "purge SOURCE ID | --source SOURCE | --all\nstats",
    .summary = "inspect received messages, retry or purge dead ones",
    .about = "Every received message is recorded under its source and id, so that it is "
             "processed once however often it is delivered. 'retry' allows dead messages to "
             "be processed when they are delivered again, with all their attempts; 'purge' "
             "deletes their records. A message is 'stuck' if the process that was processing "
             "it has died; the next delivery takes it over.",
    .examples = "  pawl inbox ls --state dead\n"
                "  pawl inbox show shop order-17\n"
                "  pawl inbox retry shop order-17",
    .options = inbox_options,
    .option_count = PAWLI_COUNT(inbox_options),
    .defaults = &inbox_defaults,
    .settings_size = sizeof(inbox_settings),
    .exits = inbox_exits,
    .exit_count = PAWLI_COUNT(inbox_exits),
    .run = run_inbox,
};
