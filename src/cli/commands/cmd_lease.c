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
#include "fields.h"
#include "scope.h"
#include "selection.h"
#include "table.h"
#include "terminal_text.h"

PAWLI_AUTO_DEFINE(pawl_leases, pawl_leases_free);

typedef struct lease_settings {
    bool owned;
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

/* ---- the fields of a lease ---- */

static const char *lease_state(const pawl_lease *lease)
{
    if (lease->owned)
        return "owned";
    return lease->released_at.us == PAWL_TIME_UNSET.us ? "expired" : "free";
}

CLI_FIELD_READ(pawl_lease, read_lease_state, cli_value_text(to, lease_state(it)));

CLI_FIELD_READ(pawl_lease, read_lease_state_cell,
               cli_value_colored(to, it->owned ? CLI_GREEN : CLI_PLAIN, lease_state(it)));

static void read_lease_owner(const void *from, pawl_wall now, cli_value *to)
{
    const pawl_lease *lease = from;

    (void)now;
    pawl_owner_format(lease->owner, to->room);
    cli_value_text(to, to->room);
}

static void read_lease_owner_name(const void *from, pawl_wall now, cli_value *to)
{
    const pawl_lease *lease = from;

    (void)now;
    cli_value_text(to, lease->owner_name);
    to->label = lease->owned ? "owner" : "last owner";
}

static void read_lease_end(const void *from, pawl_wall now, cli_value *to)
{
    const pawl_lease *lease = from;

    (void)now;
    cli_value_time(to, lease->expires_at);
    to->label = lease->owned ? "ends" : "ended";
}

CLI_FIELD_READ(pawl_lease, read_lease_taken_cell,
               cli_value_text(to, cli_when_relative(it->taken_at, now, to->room)));
CLI_FIELD_READ(pawl_lease, read_forced_fence,
               if (it->forced_at.us != PAWL_TIME_UNSET.us) cli_value_number(to, it->forced_fence));

#define LEASE(kind, member) CLI_FIELD_##kind, offsetof(pawl_lease, member)
static const cli_field lease_fields[] = {
    {"name", LEASE(TEXT, name), .details = {1, "name"}, .column = {1, "NAME"}},
    {"owned", LEASE(BOOL, owned)},
    {NULL, .read = read_lease_state, .details = {2, "state"}},
    {NULL, .read = read_lease_state_cell, .column = {2, "STATE"}},
    {"owner", .read = read_lease_owner, .details = {4, "owner id"}},
    {"owner_name", .read = read_lease_owner_name, .details = {3, "owner"}, .column = {4, "OWNER"}},
    {"fence", LEASE(INT64, fence), .details = {5, "token"}, .column = {3, "TOKEN", true}},
    {"taken_at", LEASE(TIME, taken_at), .details = {6, "acquired"}},
    {NULL, .read = read_lease_taken_cell, .column = {5, "ACQUIRED"}},
    {"renewed_at", LEASE(TIME, renewed_at), .details = {7, "renewed"}},
    {"expires_at", .read = read_lease_end, .details = {8, "ends"}, .column = {6, "ENDS"}},
    {"released_at", LEASE(TIME, released_at)},
    {"forced_at", LEASE(TIME, forced_at), .details = {9, "released by force"}},
    {"forced_by", LEASE(TEXT, forced_by), .details = {10, "  by"}},
    {"forced_reason", LEASE(TEXT, forced_reason), .details = {11, "  because"}},
    {"forced_fence", LEASE(INT64, forced_fence)},
    {NULL, .read = read_forced_fence, .details = {12, "  from token"}},
};
static const cli_noun lease_noun = CLI_NOUN(lease_fields);

/* ---- the subcommands ---- */

static pawl_status list_leases(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const lease_settings *own = args->settings;
    PAWLI_AUTO(pawl_leases) leases = NULL;
    CLI_AUTO_LISTING found = {0};
    pawl_lease_filter filter = PAWL_LEASE_FILTER_INIT;
    pawl_page next = PAWL_PAGE_INIT;
    pawl_status st = cli_page_after(own->after, &filter.after, err);

    filter.limit = (int)own->limit;
    filter.only_owned = own->owned;
    if (st == PAWL_OK)
        st = pawl_lease_list(store, &filter, &leases, &next, err);
    if (st != PAWL_OK)
        return st;
    size_t count = pawl_leases_count(leases);
    cli_listing_begin(&found, &lease_noun, CLI_LISTING_FORM(args), own->limit,
                      pawl_leases_now(leases));
    for (size_t i = 0; i < count; i++)
        cli_listing_add(&found, pawl_leases_at(leases, i), 0);
    cli_listing_print(&found, own->owned ? "No leases are owned." : "There are no leases.");
    if (!PAWL_PAGE_IS_NONE(next) && !args->common.json)
        cli_note("there may be more; continue with --after '%s'", next.text);
    return PAWL_OK;
}

static pawl_status show_lease(const cli_args *args, pawl_store *store, pawl_error *err)
{
    PAWLI_AUTO(pawl_leases) one = NULL;
    pawl_status st = pawl_lease_get(store, args->words.items[1], &one, err);

    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        cli_json_print(stdout, cli_noun_json(&lease_noun, pawl_leases_at(one, 0)));
    else
        cli_noun_details(&lease_noun, pawl_leases_at(one, 0), pawl_leases_now(one));
    return PAWL_OK;
}

/* The lease to release by force, or the reason why there is none. */
static pawl_status find_held_lease(const char *name, pawl_store *store, int64_t fence,
                                   pawl_leases **ret_one, pawl_error *err)
{
    pawl_status st = pawl_lease_get(store, name, ret_one, err);

    if (st != PAWL_OK)
        return st;
    if (!pawl_leases_at(*ret_one, 0)->owned)
        return pawli_fail(err, PAWL_E_LOST, "the lease has no owner; there is nothing to release");
    if (fence != 0 && pawl_leases_at(*ret_one, 0)->fence != fence)
        return pawli_fail(err, PAWL_E_LOST,
                          "the lease is owned under the token %" PRId64 ", not %" PRId64
                          "; it was not changed",
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
        cli_json_print(stdout, json_pack("{s:b, s:o}", "dry_run", 1, "lease",
                                         cli_noun_json(&lease_noun, lease)));
    else
        printf("would be released from %s (token %" PRId64 ")\n", lease->owner_name, lease->fence);
    return PAWL_OK;
}

/* Only the owner with the token that was read loses the lease, not a later one. */
static pawl_status confirm_release(const char *name, pawl_store *store, int64_t *ret_fence,
                                   pawl_error *err)
{
    PAWLI_AUTO(pawl_leases) one = NULL;
    pawl_status st = find_held_lease(name, store, *ret_fence, &one, err);

    if (st != PAWL_OK)
        return st;
    const pawl_lease *lease = pawl_leases_at(one, 0);
    PAWLI_AUTO_FREE char *holder =
        cli_text_clean(lease->owner_name, strlen(lease->owner_name), true);
    PAWLI_AUTO_FREE char *question =
        cli_print("Revoke the lease of %s (token %" PRId64 ", ends %s)?", holder, lease->fence,
                  cli_when_relative(lease->expires_at, pawl_leases_now(one), CLI_ROOM));
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
    pawl_lease_force_options options = PAWL_LEASE_FORCE_OPTIONS_INIT;
    pawl_status st = PAWL_OK;

    if (own->dry_run)
        return preview_release(args, store, err);
    options.by = own->by ? own->by : user;
    options.reason = own->reason;
    options.fence = own->fence;
    if (!own->yes)
        st = confirm_release(name, store, &options.fence, err);
    if (st == PAWL_OK)
        st = pawl_lease_force_release(store, name, &options, &one, err);
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        cli_json_print(stdout, cli_noun_json(&lease_noun, pawl_leases_at(one, 0)));
    else
        printf("released from %s (token %" PRId64 ")\n", pawl_leases_at(one, 0)->owner_name,
               pawl_leases_at(one, 0)->fence);
    return PAWL_OK;
}

/* ---- the verb ---- */

static const lease_subcommand lease_subcommands[] = {
    {"ls", 0, list_leases}, {"show", 1, show_lease}, {"release", 1, release_lease}};

static const char lease_usage[] =
    "use 'pawl lease ls', 'pawl lease show NAME' or 'pawl lease release NAME'";

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
                                        : "lease %s takes no further arguments",
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
    {"owned", NULL, "ls: only leases that have an owner now", CLI_FLAG, 0, FIELD(owned), 0, 0},
    {"limit", "N", "ls: at most N (default: 100)", CLI_NUMBER, 0, FIELD(limit), 1, 10000},
    {"after", "NAME", "ls: names after this one (next page)", CLI_TEXT, 0, FIELD(after), 0, 0},
    {"fence", "TOKEN", "release: only from the owner of this token", CLI_NUMBER, 0, FIELD(fence), 1,
     INT64_MAX},
    {"by", "NAME", "release: your name, stored with the lease (default: user@host)", CLI_TEXT, 0,
     FIELD(by), 0, 0},
    {"reason", "TEXT", "release: the reason, stored with the lease", CLI_TEXT, 0, FIELD(reason), 0,
     0},
    {"dry-run", NULL, "release: show the owner without changing anything", CLI_FLAG, 'n',
     FIELD(dry_run), 0, 0},
    {"yes", NULL, "release: do not ask for confirmation", CLI_FLAG, 'y', FIELD(yes), 0, 0},
};

static const cli_exit lease_exits[] = {
    {PAWL_E_EMPTY, "release: you did not confirm; nothing was changed"},
    {PAWL_E_NOT_FOUND, "there is no such lease"},
    {PAWL_E_LOST, "release: it has no owner, or the owner has another token"},
};

const cli_verb cli_verb_lease = {
    .name = "lease",
    .usage = "ls\nshow NAME\nrelease NAME",
    .summary = "list leases and release them by force",
    .about = "A lease is listed for a week after it has expired. 'release' ends a lease by "
             "force; its owner detects this at its next renewal. The name and reason that were "
             "given are stored with the lease. Asks for confirmation unless --yes is given.",
    .examples = "  pawl lease ls --owned\n  pawl lease show nightly\n"
                "  pawl lease release nightly --reason 'host is gone'",
    .options = lease_options,
    .option_count = PAWLI_COUNT(lease_options),
    .defaults = &lease_defaults,
    .settings_size = sizeof(lease_settings),
    .exits = lease_exits,
    .exit_count = PAWLI_COUNT(lease_exits),
    .run = run_lease,
};
