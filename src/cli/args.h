/* src/cli/args.h - options: one table per command, used for parsing and for --help. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>

typedef enum cli_kind {
    CLI_FLAG,   /* bool */
    CLI_TEXT,   /* const char * */
    CLI_NUMBER, /* int64_t, min .. max */
    CLI_SPAN,   /* int64_t milliseconds, min .. max; written "250ms", "30s", "1h30m" */
    CLI_TEXTS   /* cli_texts; the option may be repeated */
} cli_kind;

typedef struct cli_texts {
    const char **items;
    size_t count;
} cli_texts;

typedef struct cli_option {
    const char *name;  /* without the dashes */
    const char *value; /* the name of the value in --help; NULL for a flag */
    const char *help;
    cli_kind kind;
    char letter;   /* the one-letter form, or 0 */
    size_t offset; /* of the field in the settings struct */
    int64_t min;
    int64_t max;
    unsigned only; /* the subcommands that take it, as bits; 0: all */
} cli_option;

/* The options that every command has. */
typedef struct cli_common {
    const char *config; /* the configuration file */
    const char *db;
    const char *schema;
    const char *prefix;
    int64_t timeout_ms; /* 0: not given */
    bool json;
    bool verbose;
    bool help;
    bool version;
} cli_common;

/* The arguments that are not options. */
typedef struct cli_words {
    const char **items;
    size_t count;
    size_t literal_from; /* index of the first word after "--"; `count` if there was none */
} cli_words;

typedef struct cli_verb cli_verb;
typedef struct cli_config cli_config; /* config.h */

typedef struct cli_args {
    const cli_verb *verb; /* NULL: none was given */
    cli_common common;
    void *settings;     /* the command's own struct */
    cli_config *config; /* flags, environment and file; not validated as a whole */
    cli_words words;
    bool *given; /* which of the verb's options were */
} cli_args;

extern const cli_option cli_common_options[];
extern const size_t cli_common_option_count;

/*
 * Options may be given before and after the command; "--" ends them. PAWL_E_INVALID: the message
 * says what is wrong and names the nearest valid word. On failure *args must still be passed to
 * cli_args_done().
 */
pawl_status cli_args_parse(cli_args *args, int argc, char **argv, pawl_error *err);
void cli_args_done(cli_args *args);

/* PAWL_E_INVALID: there is a word that is not an option. */
pawl_status cli_args_no_words(const cli_args *args, pawl_error *err);

/* Whether "--json" is given: needed to report errors in the other options. */
bool cli_args_want_json(int argc, char **argv);

#endif
