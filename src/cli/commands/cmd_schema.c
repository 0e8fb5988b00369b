/* src/cli/commands/cmd_schema.c - pawl init, migrate, grant: the tables and the roles of the
 * database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "alloc.h"
#include "scope.h"

static void report_schema_json(const char *action, const char *engine,
                               const pawl_schema_info *before, int to, bool dry_run,
                               const char *missing_roles)
{
    json_t *document = json_object();
    json_t *missing = json_array();

    cli_json_text(document, "action", action);
    cli_json_text(document, "engine", engine);
    cli_json_number(document, "from", before->version);
    cli_json_number(document, "to", to);
    json_object_set_new(document, "dry_run", json_boolean(dry_run));
    /* "pawl_send, pawl_work": as the server lists them. */
    for (const char *at = missing_roles; at && *at; at += strspn(at, ", ")) {
        size_t size = strcspn(at, ",");

        json_array_append_new(missing, json_stringn(at, size));
        at += size;
    }
    json_object_set_new(document, "missing_roles", missing);
    cli_json_print(stdout, document);
}

static void report_schema(const cli_args *args, const char *engine, const pawl_schema_info *before,
                          bool dry_run, const char *missing_roles)
{
    bool behind = before->version < before->library_version;
    const char *action = behind                  ? before->version == 0 ? "create" : "upgrade"
                         : before->code_outdated ? "replace-functions"
                                                 : "none";
    int to = behind ? before->library_version : before->version;

    if (args->common.json)
        report_schema_json(action, engine, before, to, dry_run, missing_roles);
    else if (before->version > before->library_version)
        printf("The schema has version %d, newer than this program's %d; nothing to do.\n",
               before->version, before->library_version);
    else if (!behind && before->code_outdated)
        printf(dry_run ? "Would replace the functions and views of schema version %d.\n"
                       : "Replaced the functions and views of schema version %d.\n",
               to);
    else if (!behind)
        printf("The schema is at version %d already; nothing to do.\n", before->version);
    else if (before->version == 0)
        printf(dry_run ? "Would create the schema, version %d.\n"
                       : "Created the schema, version %d.\n",
               to);
    else
        printf(dry_run ? "Would upgrade the schema from version %d to %d.\n"
                       : "Upgraded the schema from version %d to %d.\n",
               before->version, to);
}

/* Asking is granting again: it changes nothing when the roles are there. */
static pawl_status check_roles(const char *url, const pawl_store_options *options,
                               char **ret_missing, pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;
    char *missing = NULL;
    pawl_status st;

    *ret_missing = NULL;
    st = pawl_schema_grant(url, options, &missing, &why);
    if (st == PAWL_E_UNSUPPORTED) /* this engine has no roles */
        return PAWL_OK;
    if (st != PAWL_OK && err)
        *err = why;
    if (st == PAWL_OK && missing)
        fprintf(stderr,
                "pawl: warning: the roles %s are missing and this user may not create them: only "
                "the schema's owner can use it. Run 'pawl grant' as a user with CREATEROLE who "
                "owns the schema, or as a superuser.\n",
                missing);
    *ret_missing = missing;
    return st;
}

static pawl_status run_init(const cli_args *args, pawl_error *err)
{
    pawl_store_options options = cli_database_options(args);
    pawl_schema_info before = PAWL_SCHEMA_INFO_INIT;
    PAWLI_AUTO_FREE char *missing = NULL;
    const char *url = NULL;
    pawl_status st;

    st = cli_args_no_words(args, err);
    if (st == PAWL_OK)
        st = cli_database_url(args, &url, err);
    if (st != PAWL_OK)
        return st;
    st = pawl_schema_deploy(url, &options, &before, err);
    if (st != PAWL_OK)
        return st;
    if (before.version < before.library_version)
        st = check_roles(url, &options, &missing, err);
    report_schema(args, pawl_engine_of_url(url), &before, false, missing);
    return st;
}

const cli_verb cli_verb_init = {
    .name = "init",
    .usage = "",
    .summary = "create pawl's tables, or upgrade them",
    .about = "Creates pawl's tables in the database, or upgrades them to this version, in one "
             "transaction. Running it again changes nothing. A SQLite file that does not "
             "exist is created. On PostgreSQL it also creates the roles pawl_send, pawl_work "
             "and pawl_admin, and reports the ones that this user may not create (--json: "
             "missing_roles); 'pawl grant' creates them later.",
    .examples = "  pawl init --db sqlite:app.db\n"
                "  pawl init --db postgresql://user@host/app --schema jobs",
    .run = run_init,
};

typedef struct migrate_settings {
    bool print;
    bool dry_run;
    bool reset_clock;
    bool force;
    const char *engine;
    int64_t from; /* -1: what is installed */
} migrate_settings;

static const migrate_settings migrate_defaults = {.from = -1};

static void print_sql_text(const cli_args *args, const char *engine, int from, const char *sql)
{
    json_t *document;

    if (!args->common.json) {
        fputs(sql, stdout);
        return;
    }
    document = json_object();
    cli_json_text(document, "engine", engine);
    cli_json_number(document, "from", from);
    cli_json_text(document, "sql", sql);
    cli_json_print(stdout, document);
}

static pawl_status print_migration(const cli_args *args, const char *engine, int from,
                                   pawl_error *err)
{
    pawl_store_options options = cli_database_options(args);
    PAWLI_AUTO_FREE char *sql = NULL;
    pawl_status st = pawl_schema_sql(engine, from, &options, &sql, err);

    if (st == PAWL_OK)
        print_sql_text(args, engine, from, sql);
    return st;
}

/* The database is asked only for what the options leave open. */
static pawl_status print_upgrade(const cli_args *args, pawl_error *err)
{
    const migrate_settings *own = args->settings;
    pawl_store_options options = cli_database_options(args);
    pawl_schema_info info = PAWL_SCHEMA_INFO_INIT;
    const char *url = NULL;
    pawl_status st;

    if (own->engine)
        return print_migration(args, own->engine, own->from < 0 ? 0 : (int)own->from, err);
    st = cli_database_url(args, &url, err);
    if (st != PAWL_OK)
        return st;
    if (own->from >= 0)
        return print_migration(args, pawl_engine_of_url(url), (int)own->from, err);
    st = pawl_schema_inspect(url, &options, &info, err);
    if (st != PAWL_OK)
        return st;
    if (info.version >= info.library_version && !info.code_outdated) {
        print_sql_text(args, pawl_engine_of_url(url), info.version,
                       "-- The schema is up to date; nothing to do.\n");
        return PAWL_OK;
    }
    return print_migration(args, pawl_engine_of_url(url), info.version, err);
}

static pawl_status upgrade_schema(const cli_args *args, pawl_error *err)
{
    const migrate_settings *own = args->settings;
    pawl_store_options options = cli_database_options(args);
    pawl_schema_info info = PAWL_SCHEMA_INFO_INIT;
    const char *url = NULL;
    pawl_status st = cli_database_url(args, &url, err);

    if (st != PAWL_OK)
        return st;
    st = pawl_schema_inspect(url, &options, &info, err);
    if (st != PAWL_OK)
        return st;
    if (info.version == 0)
        return pawli_fail(err, PAWL_E_NO_SCHEMA,
                          "there is no pawl schema to upgrade here; 'pawl init' creates one");
    if (!own->dry_run)
        st = pawl_schema_deploy(url, &options, &info, err);
    if (st != PAWL_OK)
        return st;
    report_schema(args, pawl_engine_of_url(url), &info, own->dry_run, NULL);
    return PAWL_OK;
}

static void report_clock_reset(const cli_args *args, const pawl_clock_reset *reset)
{
    long long seconds = (long long)(reset->ahead_ms / 1000);

    if (args->common.json) {
        json_t *document = json_object();
        cli_json_text(document, "action", reset->done ? "reset-clock" : "none");
        cli_json_number(document, "ahead_ms", reset->ahead_ms);
        cli_json_number(document, "leased", reset->owned);
        cli_json_print(stdout, document);
    } else if (reset->done) {
        printf("Set the clock back by %lld seconds.\n", seconds);
    } else if (reset->ahead_ms > 1000) {
        printf("Would set the clock back by %lld seconds; %lld messages or leases are owned.\n",
               seconds, (long long)reset->owned);
    } else {
        printf("The clock is not ahead; nothing to do.\n");
    }
}

static pawl_status reset_store_clock(const cli_args *args, pawl_error *err)
{
    const migrate_settings *own = args->settings;
    PAWLI_AUTO(pawl_store) store = NULL;
    pawl_clock_reset reset = PAWL_CLOCK_RESET_INIT;
    pawl_status st = cli_database_open(args, &store, err);

    if (st == PAWL_OK)
        st = pawl_store_reset_clock(store, own->force, own->dry_run, &reset, err);
    if (st == PAWL_OK)
        report_clock_reset(args, &reset);
    return st;
}

static pawl_status run_migrate(const cli_args *args, pawl_error *err)
{
    const migrate_settings *own = args->settings;

    pawl_status st = cli_args_no_words(args, err);

    if (st != PAWL_OK)
        return st;
    if (own->print && own->dry_run)
        return pawli_fail(err, PAWL_E_INVALID, "--print and --dry-run exclude each other");
    if (!own->print && (own->engine || own->from >= 0))
        return pawli_fail(err, PAWL_E_INVALID, "--engine and --from require --print");
    if (own->reset_clock && own->print)
        return pawli_fail(err, PAWL_E_INVALID, "--print and --reset-clock exclude each other");
    if (own->force && !own->reset_clock)
        return pawli_fail(err, PAWL_E_INVALID, "--force requires --reset-clock");
    if (own->reset_clock)
        return reset_store_clock(args, err);
    return own->print ? print_upgrade(args, err) : upgrade_schema(args, err);
}

#define FIELD(field) offsetof(migrate_settings, field)
static const cli_option migrate_options[] = {
    {"print", NULL, "print the SQL without running it", CLI_FLAG, 0, FIELD(print), 0, 0},
    {"dry-run", NULL, "print the versions without changing anything", CLI_FLAG, 'n', FIELD(dry_run),
     0, 0},
    {"engine", "ENGINE", "with --print: sqlite or postgres; no database is needed", CLI_TEXT, 0,
     FIELD(engine), 0, 0},
    {"from", "N",
     "with --print: the installed version (default: read from the database; with "
     "--engine: 0, nothing installed)",
     CLI_NUMBER, 0, FIELD(from), 0, 1000000},
    {"reset-clock", NULL,
     "do this instead of upgrading: after the machine's clock was ahead and has been "
     "corrected, set the store's clock and the times stored meanwhile back",
     CLI_FLAG, 0, FIELD(reset_clock), 0, 0},
    {"force", NULL,
     "with --reset-clock: even if messages or leases are owned; they expire by the "
     "new clock",
     CLI_FLAG, 0, FIELD(force), 0, 0},
};

static const cli_exit migrate_exits[] = {
    {PAWL_E_HELD, "--reset-clock: messages or leases are owned; stop the workers, or see --force"},
};

const cli_verb cli_verb_migrate = {
    .name = "migrate",
    .usage = "",
    .summary = "upgrade an existing schema, or print the SQL for it",
    .about = "Upgrades pawl's tables to this version and replaces functions and views of an "
             "older release, in one transaction. A database without pawl's tables is not "
             "changed. Programs of the previous version keep working on the new schema.\n"
             "\n"
             "The clock of a SQLite store never goes back. If the machine's clock was ahead "
             "once, the store's clock stays ahead: it advances with the boot clock, and an "
             "error is logged. To correct it, stop all workers, set the machine's clock, and "
             "run --reset-clock. Delays are kept: what was due in a minute is still due in a "
             "minute. Due times of messages that were sent before the clock was ahead do not "
             "change. PostgreSQL uses the "
             "server's clock; there, only the times that were stored while it was ahead are "
             "set back.",
    .examples = "  pawl migrate --dry-run\n"
                "  pawl migrate --reset-clock --dry-run\n"
                "  pawl migrate --print --engine postgres --schema jobs",
    .options = migrate_options,
    .option_count = PAWLI_COUNT(migrate_options),
    .exits = migrate_exits,
    .exit_count = PAWLI_COUNT(migrate_exits),
    .defaults = &migrate_defaults,
    .settings_size = sizeof(migrate_settings),
    .run = run_migrate,
};

static void report_grant(const cli_args *args)
{
    json_t *document;

    if (!args->common.json) {
        puts("The roles pawl_send, pawl_work and pawl_admin have their privileges.");
        return;
    }
    document = json_object();
    json_object_set_new(document, "roles",
                        json_pack("[sss]", "pawl_send", "pawl_work", "pawl_admin"));
    cli_json_print(stdout, document);
}

static pawl_status run_grant(const cli_args *args, pawl_error *err)
{
    pawl_store_options options = cli_database_options(args);
    PAWLI_AUTO_FREE char *missing = NULL;
    const char *url = NULL;
    pawl_status st;

    st = cli_args_no_words(args, err);
    if (st == PAWL_OK)
        st = cli_database_url(args, &url, err);
    if (st == PAWL_OK)
        st = pawl_schema_grant(url, &options, &missing, err);
    if (st != PAWL_OK)
        return st;
    if (missing)
        return pawli_fail(err, PAWL_E_DENIED,
                          "the roles %s are missing and this user may not create them: run 'pawl "
                          "grant' as a user with CREATEROLE or as a superuser",
                          missing);
    report_grant(args);
    return PAWL_OK;
}

static const cli_exit grant_exits[] = {
    {PAWL_E_DENIED, "this user may not create a role that is missing, or does not own the schema"},
};

const cli_verb cli_verb_grant = {
    .name = "grant",
    .usage = "",
    .summary = "create PostgreSQL's roles and grant them their privileges",
    .about = "Creates the roles pawl_send, pawl_work and pawl_admin where they are missing, "
             "and grants them their privileges on pawl's schema. Privileges that were changed "
             "manually are reset. Running it again changes nothing. SQLite has no roles: file "
             "permissions control access.",
    .examples = "  pawl grant --db postgresql://owner@host/app\n"
                "  pawl grant --db postgresql://postgres@host/app --schema jobs",
    .exits = grant_exits,
    .exit_count = PAWLI_COUNT(grant_exits),
    .run = run_grant,
};
