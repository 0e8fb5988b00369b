/* src/cli/commands/cmd_change.h - shared by retry, cancel and purge, which change messages by id or
 * by filter. */
#ifndef CLI_CMD_CHANGE_H
#define CLI_CMD_CHANGE_H

#include <pawl/outbox.h>

#include "cli.h"

typedef struct cli_change {
    const char *verb;  /* "retry" */
    const char *title; /* "Retry" */
    const char *done;  /* "retried" */
    unsigned allowed;  /* bit set of the states to which it applies */
    unsigned usual;    /* the default states of a filter */
    pawl_status (*by_id)(pawl_store *store, const pawl_work_id *ids, size_t count,
                         size_t *ret_changed, pawl_error *err);
    pawl_status (*matching)(pawl_store *store, const pawl_outbox_filter *filter,
                            size_t *ret_changed, pawl_error *err);
} cli_change;

typedef struct cli_change_settings {
    cli_texts states;
    const char *topic;
    const char *correlation;
    int64_t older_than_ms;
    bool all;
    bool dry_run;
    bool yes;
} cli_change_settings;

#define CLI_CHANGE_OPTION_COUNT 7
#define CLI_CHANGE_EXIT_COUNT 2
extern const cli_option cli_change_options[CLI_CHANGE_OPTION_COUNT];
extern const cli_exit cli_change_exits[CLI_CHANGE_EXIT_COUNT];

pawl_status cli_change_run(const cli_change *change, const cli_args *args, pawl_error *err);

/*
 * The two variants, after the command line was validated and, unless --dry-run or --yes is given,
 * there is a terminal for the confirmation.
 */
pawl_status cli_change_ids(const cli_change *change, const cli_args *args, pawl_error *err);
pawl_status cli_change_filter(const cli_change *change, const cli_args *args, pawl_error *err);

#endif
