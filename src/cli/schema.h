/* src/cli/schema.h - saying what happened to the schema. */
#ifndef CLI_SCHEMA_H
#define CLI_SCHEMA_H

#include <stdbool.h>

#include <pawl/store.h>

#include "args.h"

/* What init or migrate did to a schema that was in state `before`, or would do. */
void cli_schema_report(const cli_args *args, const char *engine, const pawl_schema_info *before,
                       bool dry_run);

/* PostgreSQL: say on stderr which roles are missing after the schema was made, and what to do. */
pawl_status cli_schema_check_roles(const char *url, const pawl_store_options *options,
                                   pawl_error *err);

#endif
