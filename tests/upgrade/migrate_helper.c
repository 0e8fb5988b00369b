/*
 * tests/upgrade/migrate_helper.c - what `pawl migrate` does, by the new library.
 *
 * migrate_helper URL SCHEMA PREFIX
 */
#include <stdio.h>

#include "helper.h"

int main(int argc, char **argv)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    if (argc != 4) {
        fprintf(stderr, "usage: migrate_helper URL SCHEMA PREFIX\n");
        return 64;
    }
    opts.timeout_ms = 60000;
    opts.schema = *argv[2] ? argv[2] : NULL;
    opts.table_prefix = *argv[3] ? argv[3] : NULL;
    if (pawl_schema_deploy(argv[1], &opts, NULL, &err) != PAWL_OK)
        return helper_complain("migrate", &err);
    return 0;
}
