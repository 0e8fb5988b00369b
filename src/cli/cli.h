/* src/cli/cli.h - the commands. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stddef.h>

#include <pawl/error.h>

#include "args.h"

#define CLI_COUNT(array) (sizeof(array) / sizeof(array)[0])

/* An exit code and its meaning for this command. */
typedef struct cli_exit {
    pawl_status status;
    const char *meaning;
} cli_exit;

struct cli_verb {
    const char *name;
    const char *usage;    /* arguments after the options: "TOPIC [PAYLOAD | -]"; one per line */
    const char *summary;  /* for the list of commands */
    const char *about;    /* one or more sentences for --help */
    const char *examples; /* lines, two or three */
    const cli_option *options;
    size_t option_count;
    /* Instead of the two above: options generated from the table of settings. */
    const cli_option *(*make_options)(size_t *ret_count);
    const void *defaults; /* the settings before any option is parsed */
    size_t settings_size;
    const cli_exit *exits; /* besides those that every command has */
    size_t exit_count;
    bool no_database; /* needs no database, and cannot fail because of one */
    pawl_status (*run)(const cli_args *args, pawl_error *err);
};

extern const cli_verb cli_verb_init;
extern const cli_verb cli_verb_grant;
extern const cli_verb cli_verb_migrate;
extern const cli_verb cli_verb_send;
extern const cli_verb cli_verb_work;
extern const cli_verb cli_verb_ls;
extern const cli_verb cli_verb_show;
extern const cli_verb cli_verb_retry;
extern const cli_verb cli_verb_cancel;
extern const cli_verb cli_verb_purge;
extern const cli_verb cli_verb_timer;
extern const cli_verb cli_verb_topic;
extern const cli_verb cli_verb_wake;
extern const cli_verb cli_verb_inbox;
extern const cli_verb cli_verb_lock;
extern const cli_verb cli_verb_lease;
extern const cli_verb cli_verb_job;
extern const cli_verb cli_verb_serve;
extern const cli_verb cli_verb_config;
extern const cli_verb cli_verb_stats;
extern const cli_verb cli_verb_version;
extern const cli_verb cli_verb_help;

/* Sets the exit code for when the command returns PAWL_OK; otherwise 0. */
void cli_exit_with(int code);

/* All commands, in the order of --help; ends with NULL. */
extern const cli_verb *const cli_verbs[];
/* NULL if there is none of that name. */
const cli_verb *cli_verb_find(const char *name);
/* Its options, from the table or from make_options(). */
const cli_option *cli_verb_options(const cli_verb *verb, size_t *ret_count);

#endif
