/* src/cli/cmd_init.c - pawl init: create or upgrade pawl's tables. */
#include <stdio.h>

#include "cli.h"
#include "database.h"
#include "fail.h"
#include "memory.h"
#include "output.h"
#include "schema.h"

static pawl_status run(const cli_args *args, pawl_error *err)
{
    pawl_store_options options = cli_database_options(args);
    pawl_schema_info before = {0};
    CLI_AUTO_FREE char *missing = NULL;
    const char *url = NULL;
    pawl_status st;

    if (args->words.count > 0)
        return cli_fail(err, PAWL_E_INVALID, "init takes no words, only options; '%s' is one",
                        args->words.items[0]);
    st = cli_database_url(args, &url, err);
    if (st != PAWL_OK)
        return st;
    st = pawl_schema_deploy(url, &options, &before, err);
    if (st != PAWL_OK)
        return st;
    if (before.version < before.library_version)
        st = cli_schema_check_roles(url, &options, &missing, err);
    cli_schema_report(args, cli_database_engine(url), &before, false, missing);
    return st;
}

const cli_verb cli_verb_init = {
    .name = "init",
    .usage = "",
    .summary = "create pawl's tables, or bring them up to date",
    .about = "Creates pawl's tables in the database, or upgrades them to this version, in one "
             "transaction. Running it again changes nothing. A SQLite file that does not exist is "
             "created. On PostgreSQL it also creates the roles pawl_send, pawl_work and "
             "pawl_admin, and says so if this user may not (--json: in missing_roles): 'pawl "
             "grant' creates them "
             "later.",
    .examples = "  pawl init --db sqlite:app.db\n"
                "  pawl init --db postgresql://user@host/app --schema jobs",
    .run = run,
};
