/* src/cli/commands/cmd_timer.c - pawl timer: messages for later. */
#include <inttypes.h>
#include <stdio.h>

#include <pawl/timer.h>

#include "cli.h"
#include "cmd_change.h"
#include "compose.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "message_fields.h"
#include "scope.h"
#include "table.h"

PAWLI_AUTO_DEFINE(pawl_scheduler, pawl_scheduler_free);

#define PAGE 1000
#define LIMIT_DEFAULT 50

typedef struct timer_settings {
    cli_compose message;
    const char *topic;
    const char *from;
    const char *before;
    int64_t limit; /* 0: not given */
    bool payload;
    cli_change_settings change;
} timer_settings;

/* ---- ls ---- */

static pawl_status gather_timers(pawl_store *store, pawl_timer_filter *query, cli_listing *to,
                                 pawl_error *err)
{
    PAWLI_AUTO(pawl_scheduler) scheduler = NULL;
    pawl_status st = pawl_scheduler_new_on_store(store, &scheduler, err);

    while (st == PAWL_OK) {
        PAWLI_AUTO(pawl_messages) page = NULL;
        int64_t left = to->wanted - to->count;

        query->limit = left < PAGE ? (int)left : PAGE;
        st = pawl_timer_list(scheduler, query, &page, &query->after, err);
        for (size_t i = 0; st == PAWL_OK && i < pawl_messages_count(page); i++)
            cli_listing_add(to, pawl_messages_at(page, i), 0);
        if (PAWL_PAGE_IS_NONE(query->after) || to->count == to->wanted)
            break;
    }
    return st;
}

/* At most `limit` of the timers that `given` selects, page by page. */
static pawl_status print_pending(const cli_args *args, pawl_store *store,
                                 const pawl_timer_filter *given, int64_t limit, pawl_error *err)
{
    bool json = args->common.json;
    CLI_AUTO_LISTING found = {0};
    pawl_timer_filter query = *given;
    pawl_wall now = PAWL_TIME_UNSET;
    pawl_status st = pawl_store_now(store, &now, err);

    if (st != PAWL_OK)
        return st;
    cli_listing_begin(&found, json ? &cli_message_noun : &cli_timer_noun, CLI_LISTING_FORM(args),
                      limit, now);
    st = gather_timers(store, &query, &found, err);
    if (st != PAWL_OK)
        return st;
    cli_listing_print(&found, "No timers are pending.");
    if (!PAWL_PAGE_IS_NONE(query.after))
        cli_listing_hint(&found, "For more, add --from with the last time, or a larger --limit.");
    return PAWL_OK;
}

/* ---- add ---- */

static void print_scheduled(const cli_args *args, pawl_wall now, const pawl_enqueued *stored)
{
    char id[PAWL_UUID_TEXT_SIZE];
    json_t *document;

    pawl_uuid_format(stored->message_id, id);
    if (!args->common.json) {
        bool passed = stored->due_at.us <= now.us;
        printf("%s due %s%s, work id %" PRId64 ", message id %s\n",
               stored->existed ? "Exists:" : "Scheduled:", passed ? "now, was due " : "",
               cli_when_both(stored->due_at, now, CLI_ROOM), stored->work_id.value, id);
        return;
    }
    document = json_object();
    cli_json_number(document, "work_id", stored->work_id.value);
    cli_json_text(document, "message_id", id);
    cli_json_time(document, "due_at", stored->due_at);
    json_object_set_new(document, "existed", json_boolean(stored->existed));
    cli_json_print(stdout, document);
}

static pawl_status add_timer(const cli_args *args, const timer_settings *own, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    PAWLI_AUTO(pawl_scheduler) scheduler = NULL;
    CLI_AUTO_COMPOSED composed = {0};
    pawl_enqueued stored = {0};
    pawl_wall now = PAWL_TIME_UNSET;
    pawl_status st = cli_compose_read("timer add", &own->message, &args->words, &composed, err);

    if (st == PAWL_OK && !own->message.at && own->message.delay_ms == 0)
        st = pawli_fail(
            err, PAWL_E_INVALID,
            "no due time given; use --at 2026-01-01T09:00+01:00, --at 'in 5m' or --delay 5m");
    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = cli_compose_complete(store, &composed, err);
    if (st == PAWL_OK)
        st = pawl_scheduler_new_on_store(store, &scheduler, err);
    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st == PAWL_OK)
        st = pawl_timer_schedule(scheduler, &composed.message, &stored, err);
    if (st == PAWL_OK)
        print_scheduled(args, now, &stored);
    return cli_compose_explain(stored.message_id, st, err);
}

/* ---- ls ---- */

/* "in 5m" counts by the database's clock. */
static pawl_status read_timer_time(pawl_store *store, const char *option, const char *text,
                                   pawl_wall *ret_time, pawl_error *err)
{
    cli_when when;
    pawl_wall now = PAWL_TIME_UNSET;
    pawl_status st;

    if (!text)
        return PAWL_OK;
    st = cli_when_parse(option, text, &when, err);
    if (st == PAWL_OK && when.is_relative)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    *ret_time = when.is_relative ? (pawl_wall){now.us + when.span_ms * 1000} : when.at;
    return PAWL_OK;
}

static pawl_status list_timers(const cli_args *args, const timer_settings *own, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;
    pawl_status st;

    if (args->words.count > 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "timer ls takes options only; 'pawl timer show %s' shows one timer",
                          args->words.items[0]);
    query.topic = own->topic;
    query.destination = own->message.destination;
    query.correlation_id = own->message.correlation;
    st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = read_timer_time(store, "--from", own->from, &query.due_from, err);
    if (st == PAWL_OK)
        st = read_timer_time(store, "--before", own->before, &query.due_before, err);
    if (st == PAWL_OK)
        st = print_pending(args, store, &query, own->limit ? own->limit : LIMIT_DEFAULT, err);
    return st;
}

/* ---- show, cancel ---- */

static pawl_status show_timer(const cli_args *args, const timer_settings *own, pawl_error *err)
{
    return cli_show_one("timer show", args, own->payload, err);
}

/* Cancels only timers that no worker has claimed, even since they were listed. */
static pawl_status cancel_pending(pawl_store *store, const pawl_work_id *ids, size_t count,
                                  size_t *ret_changed, pawl_error *err)
{
    PAWLI_AUTO(pawl_scheduler) scheduler = NULL;
    pawl_status st = pawl_scheduler_new_on_store(store, &scheduler, err);

    *ret_changed = 0;
    for (size_t i = 0; i < count && st == PAWL_OK; i++) {
        PAWLI_AUTO(pawl_messages) one = NULL;
        size_t cancelled = 0;

        st = pawl_outbox_get(store, ids[i], &one, err);
        if (st == PAWL_OK) {
            pawl_uuid id = pawl_message_id(pawl_messages_at(one, 0));
            st = pawl_timer_cancel(scheduler, &id, 1, &cancelled, err);
        }
        *ret_changed += cancelled;
        st = st == PAWL_E_NOT_FOUND ? PAWL_OK : st;
    }
    return st;
}

static pawl_status cancel_timers(const cli_args *args, const timer_settings *own, pawl_error *err)
{
    static const cli_change change = {
        .verb = "timer cancel",
        .title = "Cancel",
        .done = "cancelled",
        .allowed = 1u << PAWL_STATE_SCHEDULED | 1u << PAWL_STATE_READY,
        .usual = 1u << PAWL_STATE_SCHEDULED | 1u << PAWL_STATE_READY,
        .by_id = cancel_pending,
    };
    cli_change_settings chosen = own->change;
    cli_args named = *args;

    if (args->words.count == 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "no timer given; use ids, for example 'pawl timer cancel 12'");
    named.settings = &chosen;
    return cli_change_run(&change, &named, err);
}

/* ---- which of them ---- */

enum { ADD = 1, LS = 2, SHOW = 4, CANCEL = 8 };

typedef struct timer_subcommand {
    const char *name;
    unsigned bit;
    pawl_status (*run)(const cli_args *args, const timer_settings *own, pawl_error *err);
} timer_subcommand;

static const timer_subcommand timer_subcommands[] = {{"add", ADD, add_timer},
                                                     {"ls", LS, list_timers},
                                                     {"show", SHOW, show_timer},
                                                     {"cancel", CANCEL, cancel_timers}};

static const char timer_usage[] =
    "use 'pawl timer add TOPIC --at TIME', 'pawl timer ls', 'pawl timer show ID' or "
    "'pawl timer cancel ID...'";

static pawl_status run_timer(const cli_args *args, pawl_error *err)
{
    const timer_subcommand *wanted = CLI_SUBCOMMAND(args, timer_subcommands, timer_usage, err);

    if (!wanted)
        return PAWL_E_INVALID;
    pawl_status st = cli_subcommand_check(args, wanted->bit, err);
    if (st != PAWL_OK)
        return st;
    cli_args rest = cli_subcommand_args(args);
    return wanted->run(&rest, args->settings, err);
}

#define FIELD(field) offsetof(timer_settings, field)
static const cli_option timer_options[] = {
    CLI_COMPOSE_OPTIONS(FIELD(message), ADD, ADD | LS),
    {"topic", "TOPIC", "ls: only this topic", CLI_TEXT, 't', FIELD(topic), 0, 0, LS},
    {"from", "TIME", "ls: due at this time or later; 'now' excludes overdue timers", CLI_TEXT, 0,
     FIELD(from), 0, 0, LS},
    {"before", "TIME", "ls: due before this time, for example 'in 1h'", CLI_TEXT, 0, FIELD(before),
     0, 0, LS},
    {"limit", "N", "ls: at most N (default: 50)", CLI_NUMBER, 0, FIELD(limit), 1, 1000000, LS},
    {"payload", NULL, "show: write only the payload, as bytes, to stdout", CLI_FLAG, 0,
     FIELD(payload), 0, 0, SHOW},
    {"dry-run", NULL, "cancel: show the timers without changing anything", CLI_FLAG, 'n',
     FIELD(change.dry_run), 0, 0, CANCEL},
    {"yes", NULL, "cancel: do not ask for confirmation", CLI_FLAG, 'y', FIELD(change.yes), 0, 0,
     CANCEL},
};
static const cli_exit timer_exits[] = {
    {PAWL_E_EMPTY, "a timer is running or finished already, or you did not confirm"},
    {PAWL_E_CONFLICT, "the id exists with another topic or payload, or the payload is too large"},
    {PAWL_E_NOT_FOUND, "there is no such timer"},
    {PAWL_E_IN_DOUBT,
     "in doubt: it may have been stored; add it again with the --id from the error "
     "message"},
};

const cli_verb cli_verb_timer = {
    .name = "timer",
    .usage = "add TOPIC [PAYLOAD | -] --at TIME\nls\nshow ID\ncancel ID...",
    .summary = "schedule, list and cancel messages that are due later",
    .about = "A timer is a message that is not due yet; a worker processes it when it is due. "
             "'timer add' takes the options of 'send' and needs --at or --delay. 'timer ls' "
             "lists pending timers, the next one first; --destination and --correlation "
             "filter them. 'timer cancel' cancels timers that have not started, and asks for "
             "confirmation unless --yes is given.",
    .examples = "  pawl timer add mail 'hello' --at 'in 5m'\n"
                "  pawl timer ls --topic mail --before 'in 1h'\n"
                "  pawl timer cancel 12 --yes",
    .options = timer_options,
    .option_count = PAWLI_COUNT(timer_options),
    .settings_size = sizeof(timer_settings),
    .exits = timer_exits,
    .exit_count = PAWLI_COUNT(timer_exits),
    .run = run_timer,
};
