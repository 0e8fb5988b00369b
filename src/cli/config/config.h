/* src/cli/config/config.h - the configuration: flags override the environment, which overrides one
 * INI file, which overrides the defaults of the table (setting.h). All errors are collected, so
 * that they can be reported at once. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdio.h>

#include "alloc.h"
#include "setting.h"

typedef enum cli_origin_kind {
    CLI_FROM_DEFAULT,
    CLI_FROM_FILE,
    CLI_FROM_ENVIRONMENT,
    CLI_FROM_FLAG
} cli_origin_kind;

typedef struct cli_origin {
    cli_origin_kind kind;
    int line; /* in the file */
} cli_origin;

/* One section with its values. */
typedef struct cli_part {
    const cli_section *section;
    char *name; /* [service NAME]; NULL: the section has no name */
    int line;   /* of its heading; 0: not in the file */
    void *values;
    cli_origin *origins; /* one per setting of the section */
} cli_part;

struct cli_config {
    char *path; /* of the file, or NULL */
    cli_part *parts;
    size_t part_count;
    char **problems; /* whole sentences: location, error, allowed values */
    size_t problem_count;
    char **warnings; /* the same for settings that are valid but probably unintended; set by
                        cli_config_check() */
    size_t warning_count;
};

/* Creates a configuration with the defaults. */
cli_config *cli_config_new(void);
void cli_config_free(cli_config *config);
PAWLI_AUTO_DEFINE(cli_config, cli_config_free);

/* Each of these overrides what was read before it, and adds problems. */
void cli_config_read_file(cli_config *config, const char *path);
void cli_config_read_text(cli_config *config, const char *path, const char *text, size_t size);
void cli_config_read_environment(cli_config *config);
/* `flags` is in the order of cli_config_options(); NULL where a flag was not given. */
void cli_config_read_flags(cli_config *config, const cli_common *common, const char *const *flags);

/* Checks across settings: dependencies, missing settings, unreadable files. */
void cli_config_check(cli_config *config);

/* The settings of a command with the options of cli_config_options(). */
typedef struct cli_config_flags {
    const char *settings[32];
} cli_config_flags;
/*
 * Does all of the above except the check, which is left to the command. For a command without these
 * options only the common ones are flags.
 */
cli_config *cli_config_load(const cli_args *args);
/* PAWL_E_INVALID if there are problems: all but the last are printed, the last one is the error. */
pawl_status cli_config_refuse(const cli_config *config, pawl_error *err);
/* One option for every setting that has a flag and is not a common option. */
const cli_option *cli_config_options(size_t *ret_count);

/* The values of a section without names: a `cli_..._settings`. */
const void *cli_config_values(const cli_config *config, cli_section_id id);
/* Sets the library's options from one part, or from all sections without names. Borrowed strings.
 */
void cli_part_fill(const cli_part *part, cli_library library, void *options);
void cli_config_fill(const cli_config *config, cli_library library, void *options);
/* Iterates over the parts of a section with names: NULL begins, and ends. */
const cli_part *cli_config_next(const cli_config *config, cli_section_id id, const cli_part *last);

void cli_config_problem(cli_config *config, const char *format, ...) PAWL_PRINTF(2, 3);
void cli_config_warn(cli_config *config, const char *format, ...) PAWL_PRINTF(2, 3);
/* The origin of the setting: "pawl.ini:3: [server] listen", "PAWL_SERVER_LISTEN", "--listen". */
char *cli_config_where(const cli_config *config, const cli_part *part, const cli_setting *setting);
/* For the files of the configuration only. */
cli_part *cli_config_part(cli_config *config, const cli_section *section, const char *name);
/* Parses one value; problems begin with its location. */
void cli_config_set(cli_config *config, cli_part *part, const cli_setting *setting,
                    const char *text, cli_origin origin);

/* Prints to stdout, as an INI file with the origin of every value, or as JSON. */
void cli_config_print(const cli_config *config, bool json);
/* Prints the reference of all settings, in Markdown: docs/configuration.md. */
void cli_config_reference(FILE *stream);

#endif
