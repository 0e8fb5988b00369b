/* src/cli/cmd_migrate.c - pawl migrate: upgrade an existing schema, or print how. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "database.h"
#include "fail.h"
#include "output.h"
#include "schema.h"

typedef struct settings {
    bool print;
    bool dry_run;
    bool reset_clock;
    bool force;
    const char *engine;
    int64_t from; /* -1: what is installed */
} settings;

static const settings defaults = {.from = -1};

static void print_text(const cli_args *args, const char *engine, int from, const char *sql)
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

static pawl_status print_sql(const cli_args *args, const char *engine, int from, pawl_error *err)
{
    pawl_store_options options = cli_database_options(args);
    CLI_AUTO_FREE char *sql = NULL;
    pawl_status st = pawl_schema_sql(engine, from, &options, &sql, err);

    if (st == PAWL_OK)
        print_text(args, engine, from, sql);
    return st;
}

/* The database is asked only for what the options leave open. */
static pawl_status print_upgrade(const cli_args *args, pawl_error *err)
{
    const settings *own = args->settings;
    pawl_store_options options = cli_database_options(args);
    pawl_schema_info info = {0};
    const char *url = NULL;
    pawl_status st;

    if (own->engine)
        return print_sql(args, own->engine, own->from < 0 ? 0 : (int)own->from, err);
    st = cli_database_url(args, &url, err);
    if (st != PAWL_OK)
        return st;
    if (own->from >= 0)
        return print_sql(args, cli_database_engine(url), (int)own->from, err);
    st = pawl_schema_inspect(url, &options, &info, err);
    if (st != PAWL_OK)
        return st;
    if (info.version >= info.library_version && !info.code_outdated) {
        print_text(args, cli_database_engine(url), info.version,
                   "-- The schema is up to date; nothing to do.\n");
        return PAWL_OK;
    }
    return print_sql(args, cli_database_engine(url), info.version, err);
}

static pawl_status upgrade(const cli_args *args, pawl_error *err)
{
    const settings *own = args->settings;
    pawl_store_options options = cli_database_options(args);
    pawl_schema_info info = {0};
    const char *url = NULL;
    pawl_status st = cli_database_url(args, &url, err);

    if (st != PAWL_OK)
        return st;
    st = pawl_schema_inspect(url, &options, &info, err);
    if (st != PAWL_OK)
        return st;
    if (info.version == 0)
        return cli_fail(err, PAWL_E_NO_SCHEMA,
                        "there is no pawl schema to upgrade here; 'pawl init' creates one");
    if (!own->dry_run)
        st = pawl_schema_deploy(url, &options, &info, err);
    if (st != PAWL_OK)
        return st;
    cli_schema_report(args, cli_database_engine(url), &info, own->dry_run, NULL);
    return PAWL_OK;
}

static void report_reset(const cli_args *args, const pawl_clock_reset *reset)
{
    long long seconds = (long long)(reset->ahead_ms / 1000);

    if (args->common.json) {
        json_t *document = json_object();
        cli_json_text(document, "action", reset->done ? "reset-clock" : "none");
        cli_json_number(document, "ahead_ms", reset->ahead_ms);
        cli_json_number(document, "held", reset->held);
        cli_json_print(stdout, document);
    } else if (reset->done) {
        printf("Set the clock back by %lld seconds.\n", seconds);
    } else if (reset->ahead_ms > 1000) {
        printf("Would set the clock back by %lld seconds; %lld messages or leases are held.\n",
               seconds, (long long)reset->held);
    } else {
        printf("The clock is not ahead; nothing to do.\n");
    }
}

static pawl_status reset_clock(const cli_args *args, pawl_error *err)
{
    const settings *own = args->settings;
    CLI_AUTO(pawl_store) store = NULL;
    pawl_clock_reset reset = {0};
    pawl_status st = cli_database_open(args, &store, err);

    if (st == PAWL_OK)
        st = pawl_store_reset_clock(store, own->force, own->dry_run, &reset, err);
    if (st == PAWL_OK)
        report_reset(args, &reset);
    return st;
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    const settings *own = args->settings;

    if (args->words.count > 0)
        return cli_fail(err, PAWL_E_INVALID, "migrate takes no words, only options; '%s' is one",
                        args->words.items[0]);
    if (own->print && own->dry_run)
        return cli_fail(err, PAWL_E_INVALID, "--print and --dry-run exclude each other");
    if (!own->print && (own->engine || own->from >= 0))
        return cli_fail(err, PAWL_E_INVALID, "--engine and --from go with --print only");
    if (own->engine && strcmp(own->engine, "sqlite") != 0 && strcmp(own->engine, "postgres") != 0)
        return cli_fail(err, PAWL_E_INVALID, "--engine must be sqlite or postgres, not '%s'",
                        own->engine);
    if (own->reset_clock && own->print)
        return cli_fail(err, PAWL_E_INVALID, "--print and --reset-clock exclude each other");
    if (own->force && !own->reset_clock)
        return cli_fail(err, PAWL_E_INVALID, "--force goes with --reset-clock only");
    if (own->reset_clock)
        return reset_clock(args, err);
    return own->print ? print_upgrade(args, err) : upgrade(args, err);
}

#define FIELD(field) offsetof(settings, field)
static const cli_option options[] = {
    {"print", NULL, "print the SQL that would run, and change nothing", CLI_FLAG, 0, FIELD(print),
     0, 0},
    {"dry-run", NULL, "say from which version to which, and change nothing", CLI_FLAG, 'n',
     FIELD(dry_run), 0, 0},
    {"engine", "ENGINE", "with --print: sqlite or postgres; no database is needed then", CLI_TEXT,
     0, FIELD(engine), 0, 0},
    {"from", "N",
     "with --print: the installed version (default: what the database says; with --engine: 0, "
     "nothing installed)",
     CLI_NUMBER, 0, FIELD(from), 0, 1000000},
    {"reset-clock", NULL,
     "instead: the machine's clock was ahead and is right now; set the store's clock, and the "
     "times "
     "stored meanwhile, back to it",
     CLI_FLAG, 0, FIELD(reset_clock), 0, 0},
    {"force", NULL,
     "with --reset-clock: though messages or leases are held; they end by the new clock", CLI_FLAG,
     0, FIELD(force), 0, 0},
};

const cli_verb cli_verb_migrate = {
    .name = "migrate",
    .usage = "",
    .summary = "upgrade an existing schema, or print the SQL for it",
    .about = "Upgrades pawl's tables to this version and replaces functions and views of an older "
             "release, in one transaction; a database without them is left alone. Programs of the "
             "previous version keep working on the new schema.\n"
             "\n"
             "A SQLite store never answers a lower time than one it has stored. If the machine's "
             "clock was ahead once, the store's stays ahead: it goes on by the boot clock, and the "
             "log has an error. Stop all workers, set the machine's clock right, and run "
             "--reset-clock: the store's clock is the machine's again, and what was to happen in a "
             "minute still happens in a minute. Due times that were given before stay as they are. "
             "PostgreSQL's clock is the server's: there only the times that were stored while it "
             "was ahead are set back.",
    .examples = "  pawl migrate --dry-run\n"
                "  pawl migrate --reset-clock --dry-run\n"
                "  pawl migrate --print --engine postgres --schema jobs",
    .options = options,
    .option_count = CLI_COUNT(options),
    .defaults = &defaults,
    .settings_size = sizeof(settings),
    .run = run,
};
