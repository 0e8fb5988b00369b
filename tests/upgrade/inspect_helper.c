/*
 * tests/upgrade/inspect_helper.c - what a library does with a schema that is there.
 *
 * inspect_helper URL SCHEMA PREFIX VERB: "deploy" deploys its schema; "inspect" prints the version
 * of the schema, the lowest version of a library that may use it, the library's version, and
 * whether the library would replace the functions; "open" opens the store, and prints the status.
 */
#include <stdio.h>
#include <string.h>

#include "helper.h"

static int inspect(const char *url, const pawl_store_options *opts)
{
    pawl_schema_info info = PAWL_SCHEMA_INFO_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    if (pawl_schema_inspect(url, opts, &info, &err) != PAWL_OK)
        return helper_complain("inspect", &err);
    helper_say("%d %d %d %d", info.version, info.compatible_from, info.library_version,
               info.code_outdated);
    return 0;
}

int main(int argc, char **argv)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    pawl_status st;

    if (argc != 5) {
        fprintf(stderr, "usage: inspect_helper URL SCHEMA PREFIX VERB\n");
        return 64;
    }
    opts.timeout_ms = 60000;
    opts.schema = *argv[2] ? argv[2] : NULL;
    opts.table_prefix = *argv[3] ? argv[3] : NULL;
    if (strcmp(argv[4], "inspect") == 0)
        return inspect(argv[1], &opts);
    if (strcmp(argv[4], "deploy") == 0) {
        st = pawl_schema_deploy(argv[1], &opts, NULL, &err);
        return st == PAWL_OK ? 0 : helper_complain("deploy", &err);
    }
    st = pawl_store_open(argv[1], &opts, &store, &err);
    helper_say("%s", pawl_status_name(st));
    pawl_store_close(store);
    return 0;
}
