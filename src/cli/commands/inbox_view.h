/* src/cli/commands/inbox_view.h - a record of the inbox as a table row, as JSON, and in full. */
#ifndef CLI_INBOX_VIEW_H
#define CLI_INBOX_VIEW_H

#include <pawl/inbox_records.h>

#include "cli.h"
#include "console.h"
#include "memory.h"
#include "table.h"

PAWLI_AUTO_DEFINE(pawl_inbox_records, pawl_inbox_records_free);

typedef struct cli_inbox_settings {
    cli_texts states;
    const char *source;
    int64_t limit;
    int64_t before;
    bool response;
    bool all;
    bool yes;
    bool dry_run;
} cli_inbox_settings;

/* inbox_view.c: a record as a table row, as JSON, and in full. */
cli_table *cli_inbox_table(void);
void cli_inbox_row(cli_table *table, const pawl_inbox_record *record, pawl_wall now);
json_t *cli_inbox_json(const pawl_inbox_record *record);
void cli_inbox_details(const pawl_inbox_record *record, pawl_wall now);

/* inbox_change.c: dead records, by key or all of them. */
pawl_status cli_inbox_requeue(const cli_args *args, pawl_store *store, pawl_error *err);
pawl_status cli_inbox_purge(const cli_args *args, pawl_store *store, pawl_error *err);

#endif
