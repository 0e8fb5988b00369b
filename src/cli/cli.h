/* src/cli/cli.h - the verbs and their subcommands. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stddef.h>
#include <stdio.h>

#include <pawl/error.h>

#include "args.h"
#include "scope.h"

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

/* All verbs, in the order of --help: cli_verb_init, ... */
/* clang-format off */
#define CLI_VERBS(X) \
    X(init) X(migrate) X(grant) X(send) X(work) X(ls) X(show) X(retry) X(cancel) X(purge) \
    X(wake) X(timer) X(topic) X(inbox) X(lock) X(lease) X(job) X(serve) X(config) X(stats) \
    X(version) X(help)
/* clang-format on */
#define CLI_VERB_DECLARE(verb) extern const cli_verb cli_verb_##verb;
CLI_VERBS(CLI_VERB_DECLARE)
#undef CLI_VERB_DECLARE

/* Sets the exit code for when the command returns PAWL_OK; otherwise 0. */
void cli_exit_with(int code);

/* The same, ended by NULL. */
extern const cli_verb *const cli_verbs[];
/* NULL if there is none of that name. */
const cli_verb *cli_verb_find(const char *name);
/* Its options, from the table or from make_options(). */
const cli_option *cli_verb_options(const cli_verb *verb, size_t *ret_count);

/*
 * Returns the one of `count` subcommands, `size` bytes each, that the first word names. Every
 * subcommand is a struct that begins with `const char *name`. NULL: `err` names the nearest one, or
 * is `usage`.
 */
const void *cli_subcommand_find(const cli_args *args, const void *subcommands, size_t count,
                                size_t size, const char *usage, pawl_error *err);
#define CLI_SUBCOMMAND(args, subcommands, usage, err)                                              \
    cli_subcommand_find((args), (subcommands), PAWLI_COUNT(subcommands), sizeof *(subcommands),    \
                        (usage), (err))
/*
 * PAWL_E_INVALID: an option is given that is not for the subcommand with this bit: it would be
 * ignored, and something else be done.
 */
pawl_status cli_subcommand_check(const cli_args *args, unsigned bit, pawl_error *err);
/* The arguments without the subcommand's name. */
cli_args cli_subcommand_args(const cli_args *args);

/* `verb` NULL: the program. */
void cli_help_print(const cli_verb *verb, FILE *stream);

#endif
