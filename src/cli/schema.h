/* src/cli/schema.h - saying what happened to the schema. */
#ifndef CLI_SCHEMA_H
#define CLI_SCHEMA_H

#include <stdbool.h>

#include <pawl/store.h>

#include "args.h"

/* What init or migrate did to a schema that was in state `before`, or would do. */
void cli_schema_report(const cli_args *args, const char *engine, const pawl_schema_info *before,
                       bool dry_run);

#endif
