/* src/cli/database.h - opening the database given by the command line, environment or file. */
#ifndef CLI_DATABASE_H
#define CLI_DATABASE_H

#include <pawl/message.h>
#include <pawl/outbox.h>
#include <pawl/store.h>

#include "args.h"
#include "alloc.h"

PAWLI_AUTO_DEFINE(pawl_store, pawl_store_close);
PAWLI_AUTO_DEFINE(pawl_messages, pawl_messages_free);
PAWLI_AUTO_DEFINE(pawl_outbox_stats, pawl_outbox_stats_free);

/*
 * From --db, $PAWL_DATABASE_URL and the configuration file. PAWL_E_INVALID: the message shows an
 * example when there is none, or says what is wrong with the configuration. Borrowed.
 */
pawl_status cli_database_url(const cli_args *args, const char **ret_url, pawl_error *err);
/* [database] of the configuration and --verbose as library options. */
pawl_store_options cli_database_options(const cli_args *args);
/* Logs the library's records from this level on to stderr. */
void cli_database_log(pawl_store_options *options, pawl_log_level level);
/* Whether the timeout was set explicitly. */
bool cli_database_timeout_given(const cli_args *args);

pawl_status cli_database_open(const cli_args *args, pawl_store **ret_store, pawl_error *err);

#endif
