/* src/cli/schema.h - saying what happened to the schema. */
#ifndef CLI_SCHEMA_H
#define CLI_SCHEMA_H

#include <stdbool.h>

#include <pawl/store.h>

#include "args.h"

/* What init or migrate did to a schema that was in state `before`, or would do. `missing_roles` is
 * what cli_schema_check_roles() returned, or NULL; it is part of the JSON. */
void cli_schema_report(const cli_args *args, const char *engine, const pawl_schema_info *before,
                       bool dry_run, const char *missing_roles);

/* PostgreSQL: say on stderr which roles are missing after the schema was made, and what to do.
 * Ownership: *ret_missing is the caller's (free), NULL if none is missing or on failure. */
pawl_status cli_schema_check_roles(const char *url, const pawl_store_options *options,
                                   char **ret_missing, pawl_error *err);

#endif
