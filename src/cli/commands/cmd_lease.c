/* src/cli/commands/cmd_lease.c - pawl lease: see who owns what, and take it away. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pawl/lease.h>

#include "cli.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "message_view.h"
#include "scope.h"
#include "table.h"
#include "terminal_text.h"

PAWLI_AUTO_DEFINE(pawl_leases, pawl_leases_free);

typedef struct lease_settings {
    bool held;
    int64_t limit;
    const char *after;
    int64_t fence;
    const char *by;
    const char *reason;
    bool yes;
    bool dry_run;
} lease_settings;

static const lease_settings lease_defaults = {.limit = 100};

typedef struct lease_subcommand {
    const char *name;
    size_t words; /* besides the name of the action */
    pawl_status (*run)(const cli_args *args, pawl_store *store, pawl_error *err);
} lease_subcommand;

/* ---- showing ---- */

static const char *lease_state(const pawl_lease *lease)
{
    if (lease->held)
        return "held";
    return lease->released_at.us == PAWL_NEVER.us ? "ran out" : "free";
}

static json_t *lease_json(const pawl_lease *lease)
{
    json_t *object = json_object();
    char owner[PAWL_UUID_TEXT_SIZE];

    pawl_owner_format(lease->owner, owner);
    cli_json_text(object, "name", lease->name);
    json_object_set_new(object, "held", json_boolean(lease->held));
    cli_json_text(object, "owner", owner);
    cli_json_text(object, "owner_name", lease->owner_name);
    cli_json_number(object, "fence", lease->fence);
    cli_json_time(object, "taken_at", lease->taken_at);
    cli_json_time(object, "renewed_at", lease->renewed_at);
    cli_json_time(object, "expires_at", lease->expires_at);
    cli_json_time(object, "released_at", lease->released_at);
    cli_json_time(object, "forced_at", lease->forced_at);
    cli_json_text(object, "forced_by", lease->forced_by);
    cli_json_text(object, "forced_reason", lease->forced_reason);
    cli_json_number(object, "forced_fence", lease->forced_fence);
    return object;
}

static void print_leases(const pawl_leases *leases)
{
    static const cli_column columns[] = {
        {"NAME", false},   {"STATE", false}, {"TOKEN", true},
        {"HOLDER", false}, {"TAKEN", false}, {"ENDS", false},
    };
    PAWLI_AUTO(cli_table) table = cli_table_new(columns, PAWLI_COUNT(columns));
    pawl_wall now = pawl_leases_now(leases);

    for (size_t i = 0; i < pawl_leases_count(leases); i++) {
        const pawl_lease *lease = pawl_leases_at(leases, i);
        char when[CLI_WHEN_SIZE];
        cli_table_cell(table, CLI_PLAIN, "%s", lease->name);
        cli_table_cell(table, lease->held ? CLI_GREEN : CLI_PLAIN, "%s", lease_state(lease));
        cli_table_cell(table, CLI_PLAIN, "%" PRId64, lease->fence);
        cli_table_cell(table, CLI_PLAIN, "%s", lease->owner_name);
        cli_table_cell(table, CLI_PLAIN, "%s", cli_when_relative(lease->taken_at, now, when));
        cli_table_cell(table, CLI_PLAIN, "%s", cli_table_time(lease->expires_at, now, when));
    }
    cli_table_print(table, stdout);
}

static void print_lease_line(const char *title, const char *text)
{
    PAWLI_AUTO_FREE char *clean = cli_text_clean(text, strlen(text), true);

    printf("%-12s %s\n", title, clean);
}

static void print_lease_time(const char *title, pawl_wall at, pawl_wall now)
{
    char when[CLI_WHEN_SIZE];

    if (at.us != PAWL_NEVER.us)
        print_lease_line(title, cli_when_both(at, now, when));
}

static void print_lease(const pawl_lease *lease, pawl_wall now)
{
    char owner[PAWL_UUID_TEXT_SIZE];

    pawl_owner_format(lease->owner, owner);
    print_lease_line("name", lease->name);
    print_lease_line("state", lease_state(lease));
    print_lease_line(lease->held ? "held by" : "was held by", lease->owner_name);
    print_lease_line("owner", owner);
    printf("%-12s %" PRId64 "\n", "token", lease->fence);
    print_lease_time("taken", lease->taken_at, now);
    print_lease_time("renewed", lease->renewed_at, now);
    print_lease_time(lease->held ? "ends" : "ended", lease->expires_at, now);
    if (lease->forced_at.us == PAWL_NEVER.us)
        return;
    print_lease_time("taken away", lease->forced_at, now);
    print_lease_line("  by", lease->forced_by);
    if (lease->forced_reason)
        print_lease_line("  because", lease->forced_reason);
    printf("%-12s %" PRId64 "\n", "  from token", lease->forced_fence);
}

/* ---- the actions ---- */

static pawl_status list_leases(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const lease_settings *own = args->settings;
    PAWLI_AUTO(pawl_leases) leases = NULL;
    pawl_lease_filter filter = PAWL_LEASE_FILTER_INIT;

    filter.after = own->after;
    filter.limit = (int)own->limit;
    filter.only_held = own->held;
    pawl_status st = pawl_lease_list(store, &filter, &leases, err);
    if (st != PAWL_OK)
        return st;
    size_t count = pawl_leases_count(leases);
    if (args->common.json) {
        json_t *array = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(array, lease_json(pawl_leases_at(leases, i)));
        cli_json_print(stdout, array);
        return PAWL_OK;
    }
    if (count == 0)
        fputs(own->held ? "Nobody holds a lease.\n" : "There are no leases.\n", stderr);
    else
        print_leases(leases);
    if (count == (size_t)own->limit)
        cli_note("there may be more; go on with --after '%s'",
                 pawl_leases_at(leases, count - 1)->name);
    return PAWL_OK;
}

static pawl_status show_lease(const cli_args *args, pawl_store *store, pawl_error *err)
{
    PAWLI_AUTO(pawl_leases) one = NULL;
    pawl_status st = pawl_lease_get(store, args->words.items[1], &one, err);

    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        cli_json_print(stdout, lease_json(pawl_leases_at(one, 0)));
    else
        print_lease(pawl_leases_at(one, 0), pawl_leases_now(one));
    return PAWL_OK;
}

/* The lease that would be taken away, or why none would. */
static pawl_status find_held_lease(const char *name, pawl_store *store, int64_t fence,
                                   pawl_leases **ret_one, pawl_error *err)
{
    pawl_status st = pawl_lease_get(store, name, ret_one, err);

    if (st != PAWL_OK)
        return st;
    if (!pawl_leases_at(*ret_one, 0)->held)
        return pawli_fail(err, PAWL_E_LOST, "nobody holds the lease; there is nothing to release");
    if (fence != 0 && pawl_leases_at(*ret_one, 0)->fence != fence)
        return pawli_fail(err, PAWL_E_LOST,
                          "the lease is held under the token %" PRId64 ", not %" PRId64
                          "; it was left alone",
                          pawl_leases_at(*ret_one, 0)->fence, fence);
    return PAWL_OK;
}

static pawl_status preview_release(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const lease_settings *own = args->settings;
    PAWLI_AUTO(pawl_leases) one = NULL;
    pawl_status st = find_held_lease(args->words.items[1], store, own->fence, &one, err);

    if (st != PAWL_OK)
        return st;
    const pawl_lease *lease = pawl_leases_at(one, 0);
    if (args->common.json)
        cli_json_print(stdout, json_pack("{s:b, s:o}", "dry_run", 1, "lease", lease_json(lease)));
    else
        printf("would be taken away from %s (token %" PRId64 ")\n", lease->owner_name,
               lease->fence);
    return PAWL_OK;
}

/* The token that was seen is the one that is taken away: a later holder is not meant. */
static pawl_status confirm_release(const char *name, pawl_store *store, int64_t *ret_fence,
                                   pawl_error *err)
{
    PAWLI_AUTO(pawl_leases) one = NULL;
    char when[CLI_WHEN_SIZE];
    pawl_status st = find_held_lease(name, store, *ret_fence, &one, err);

    if (st != PAWL_OK)
        return st;
    const pawl_lease *lease = pawl_leases_at(one, 0);
    PAWLI_AUTO_FREE char *holder =
        cli_text_clean(lease->owner_name, strlen(lease->owner_name), true);
    PAWLI_AUTO_FREE char *question =
        cli_print("Take the lease away from %s (token %" PRId64 ", ends %s)?", holder, lease->fence,
                  cli_when_relative(lease->expires_at, pawl_leases_now(one), when));
    if (*ret_fence == 0)
        *ret_fence = lease->fence;
    if (cli_confirm(question))
        return PAWL_OK;
    fputs("pawl: nothing was changed.\n", stderr);
    return PAWL_E_EMPTY;
}

static char *user_at_host(void)
{
    char host[256] = "localhost";
    const char *user = getenv("USER");

    gethostname(host, sizeof host - 1);
    return user && *user ? cli_print("%s@%.200s", user, host)
                         : cli_print("uid %ld@%.200s", (long)getuid(), host);
}

static pawl_status release_lease(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const lease_settings *own = args->settings;
    const char *name = args->words.items[1];
    PAWLI_AUTO(pawl_leases) one = NULL;
    PAWLI_AUTO_FREE char *user = user_at_host();
    pawl_lease_force_options lease_options = PAWL_LEASE_FORCE_OPTIONS_INIT;
    pawl_status st = PAWL_OK;

    if (own->dry_run)
        return preview_release(args, store, err);
    lease_options.by = own->by ? own->by : user;
    lease_options.reason = own->reason;
    lease_options.fence = own->fence;
    if (!own->yes)
        st = confirm_release(name, store, &lease_options.fence, err);
    if (st == PAWL_OK)
        st = pawl_lease_force_release(store, name, &lease_options, &one, err);
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        cli_json_print(stdout, lease_json(pawl_leases_at(one, 0)));
    else
        printf("taken away from %s (token %" PRId64 ")\n", pawl_leases_at(one, 0)->owner_name,
               pawl_leases_at(one, 0)->fence);
    return PAWL_OK;
}

/* ---- the verb ---- */

static const lease_subcommand lease_subcommands[] = {
    {"ls", 0, list_leases}, {"show", 1, show_lease}, {"release", 1, release_lease}};

static const char lease_usage[] =
    "say 'pawl lease ls', 'pawl lease show NAME' or 'pawl lease release NAME'";

static pawl_status run_lease(const cli_args *args, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    const lease_settings *own = args->settings;
    const lease_subcommand *wanted = CLI_SUBCOMMAND(args, lease_subcommands, lease_usage, err);
    pawl_status st = PAWL_OK;

    if (!wanted)
        return PAWL_E_INVALID;
    if (args->words.count != wanted->words + 1)
        return pawli_fail(err, PAWL_E_INVALID,
                          wanted->words ? "lease %s takes the name of one lease"
                                        : "lease %s takes no more words",
                          wanted->name);
    if (own->dry_run && wanted->run != release_lease)
        return pawli_fail(err, PAWL_E_INVALID, "--dry-run is not for 'lease %s'", wanted->name);
    if (wanted->run == release_lease && !own->yes && !own->dry_run)
        st = cli_confirm_possible("lease release", err);
    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    return st == PAWL_OK ? wanted->run(args, store, err) : st;
}

#define FIELD(field) offsetof(lease_settings, field)
static const cli_option lease_options[] = {
    {"held", NULL, "ls: only those that somebody holds now", CLI_FLAG, 0, FIELD(held), 0, 0},
    {"limit", "N", "ls: at most so many (default: 100)", CLI_NUMBER, 0, FIELD(limit), 1, 10000},
    {"after", "NAME", "ls: names behind this one", CLI_TEXT, 0, FIELD(after), 0, 0},
    {"fence", "TOKEN", "release: only from the holder of this token", CLI_NUMBER, 0, FIELD(fence),
     1, INT64_MAX},
    {"by", "NAME", "release: who does it (default: user@host)", CLI_TEXT, 0, FIELD(by), 0, 0},
    {"reason", "TEXT", "release: why; kept with the lease", CLI_TEXT, 0, FIELD(reason), 0, 0},
    {"dry-run", NULL, "release: show from whom, and change nothing", CLI_FLAG, 'n', FIELD(dry_run),
     0, 0},
    {"yes", NULL, "release: do not ask", CLI_FLAG, 'y', FIELD(yes), 0, 0},
};

static const cli_exit lease_exits[] = {
    {PAWL_E_EMPTY, "release: answered with no; nothing was changed"},
    {PAWL_E_NOT_FOUND, "there is no such lease"},
    {PAWL_E_LOST, "release: nobody holds it, or not under that token"},
};

const cli_verb cli_verb_lease = {
    .name = "lease",
    .usage = "ls\nshow NAME\nrelease NAME",
    .summary = "see who holds which lease, and take it away",
    .about = "A lease is listed for a week after it has ended. 'release' takes it away from its "
             "holder, who learns of it when it next renews; who did it and why is kept and shown. "
             "Asks first, unless --yes is given.",
    .examples = "  pawl lease ls --held\n  pawl lease show nightly\n"
                "  pawl lease release nightly --reason 'host is gone'",
    .options = lease_options,
    .option_count = PAWLI_COUNT(lease_options),
    .defaults = &lease_defaults,
    .settings_size = sizeof(lease_settings),
    .exits = lease_exits,
    .exit_count = PAWLI_COUNT(lease_exits),
    .run = run_lease,
};
