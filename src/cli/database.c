/* src/cli/database.c - the database the command line names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "terminal_line.h"

static const cli_database_settings *database_settings(const cli_args *args)
{
    return cli_config_values(args->config, CLI_SECTION_DATABASE);
}

pawl_status cli_database_url(const cli_args *args, const char **ret_url, pawl_error *err)
{
    pawl_status st = cli_config_refuse(args->config, err);

    if (st != PAWL_OK)
        return st;
    if (!database_settings(args)->url)
        return pawli_fail(err, PAWL_E_INVALID,
                          "no database given; use --db URL or set PAWL_DATABASE_URL, for example "
                          "--db sqlite:app.db or --db postgresql://user@host/app");
    *ret_url = database_settings(args)->url;
    return PAWL_OK;
}

static void print_log_record(void *context, const pawl_log_record *record)
{
    static const cli_color colors[] = {CLI_DIM, CLI_DIM, CLI_YELLOW, CLI_RED};

    (void)context;
    cli_terminal_line_print("%s%s %s: %s%s\n", cli_style(stderr, colors[record->level]),
                            pawl_log_level_name(record->level), record->area, record->message,
                            cli_style(stderr, CLI_PLAIN));
}

void cli_database_log(pawl_store_options *options, pawl_log_level level)
{
    options->log.write = print_log_record;
    options->log.level = level;
}

pawl_store_options cli_database_options(const cli_args *args)
{
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;

    cli_config_fill(args->config, CLI_LIBRARY_store, &options);
    options.deploy_schema = false; /* only `pawl serve` creates the tables */
    if (args->common.verbose)
        cli_database_log(&options, PAWL_LOG_DEBUG);
    return options;
}

bool cli_database_timeout_given(const cli_args *args)
{
    const cli_part *part = cli_config_next(args->config, CLI_SECTION_DATABASE, NULL);

    for (size_t i = 0; i < part->section->count; i++)
        if (part->section->settings[i].offset == offsetof(cli_database_settings, timeout_ms))
            return part->origins[i].kind != CLI_FROM_DEFAULT;
    return false;
}

pawl_status cli_database_open(const cli_args *args, pawl_store **ret_store, pawl_error *err)
{
    pawl_store_options options = cli_database_options(args);
    const char *url = NULL;
    pawl_status st = cli_database_url(args, &url, err);

    if (st != PAWL_OK)
        return st;
    return pawl_store_open(url, &options, ret_store, err);
}
