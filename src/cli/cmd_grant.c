/* src/cli/cmd_grant.c - pawl grant: PostgreSQL's roles and their rights. */
#include <stdio.h>

#include "cli.h"
#include "database.h"
#include "fail.h"
#include "memory.h"
#include "output.h"

static void report(const cli_args *args)
{
    json_t *document;

    if (!args->common.json) {
        puts("The roles pawl_send, pawl_work and pawl_admin have their rights.");
        return;
    }
    document = json_object();
    json_object_set_new(document, "roles",
                        json_pack("[sss]", "pawl_send", "pawl_work", "pawl_admin"));
    cli_json_print(stdout, document);
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    pawl_store_options options = cli_database_options(args);
    CLI_AUTO_FREE char *missing = NULL;
    const char *url = NULL;
    pawl_status st;

    if (args->words.count > 0)
        return cli_fail(err, PAWL_E_INVALID, "grant takes no words, only options; '%s' is one",
                        args->words.items[0]);
    st = cli_database_url(args, &url, err);
    if (st == PAWL_OK)
        st = pawl_schema_grant(url, &options, &missing, err);
    if (st != PAWL_OK)
        return st;
    if (missing)
        return cli_fail(err, PAWL_E_DENIED,
                        "the roles %s are missing and this user may not create them: run 'pawl "
                        "grant' as a user with CREATEROLE or as a superuser",
                        missing);
    report(args);
    return PAWL_OK;
}

const cli_verb cli_verb_grant = {
    .name = "grant",
    .usage = "",
    .summary = "create PostgreSQL's roles and grant them their rights",
    .about = "Creates the roles pawl_send, pawl_work and pawl_admin where they are missing, and "
             "grants them their rights on pawl's schema: exactly those, also where rights were "
             "changed by hand. Running it again changes nothing. SQLite has no roles: the rights "
             "on the file decide who may use it.",
    .examples = "  pawl grant --db postgresql://owner@host/app\n"
                "  pawl grant --db postgresql://postgres@host/app --schema jobs",
    .run = run,
};
