/* src/cli/schema.h - reporting schema changes. */
#ifndef CLI_SCHEMA_H
#define CLI_SCHEMA_H

#include <stdbool.h>

#include <pawl/store.h>

#include "args.h"

/*
 * Reports what init or migrate did, or would do, to a schema that was in state `before`.
 * `missing_roles` is the result of cli_schema_check_roles(), or NULL; it is part of the JSON.
 */
void cli_schema_report(const cli_args *args, const char *engine, const pawl_schema_info *before,
                       bool dry_run, const char *missing_roles);

/*
 * PostgreSQL: reports on stderr which roles are missing after the schema was created, and what to
 * do.
 * Ownership: *ret_missing is the caller's (free), NULL if none is missing or on failure.
 */
pawl_status cli_schema_check_roles(const char *url, const pawl_store_options *options,
                                   char **ret_missing, pawl_error *err);

#endif
