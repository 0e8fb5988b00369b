/* src/cli/schema.c - saying what happened to the schema. */
#include <stdio.h>
#include <string.h>

#include "database.h"
#include "memory.h"
#include "output.h"
#include "schema.h"

static void report_json(const char *action, const char *engine, const pawl_schema_info *before,
                        int to, bool dry_run, const char *missing_roles)
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

void cli_schema_report(const cli_args *args, const char *engine, const pawl_schema_info *before,
                       bool dry_run, const char *missing_roles)
{
    bool behind = before->version < before->library_version;
    const char *action = behind                  ? before->version == 0 ? "create" : "upgrade"
                         : before->code_outdated ? "replace-functions"
                                                 : "none";
    int to = behind ? before->library_version : before->version;

    if (args->common.json)
        report_json(action, engine, before, to, dry_run, missing_roles);
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
pawl_status cli_schema_check_roles(const char *url, const pawl_store_options *options,
                                   char **ret_missing, pawl_error *err)
{
    char *missing = NULL;
    pawl_status st;

    *ret_missing = NULL;
    if (strcmp(cli_database_engine(url), "postgres") != 0)
        return PAWL_OK;
    st = pawl_schema_grant(url, options, &missing, err);
    if (st == PAWL_OK && missing)
        fprintf(stderr,
                "pawl: warning: the roles %s are missing and this user may not create them: only "
                "the schema's owner can use it. Run 'pawl grant' as a user with CREATEROLE who "
                "owns the schema, or as a superuser.\n",
                missing);
    *ret_missing = missing;
    return st;
}
