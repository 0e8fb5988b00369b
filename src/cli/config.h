/*
 * src/cli/config.h - the configuration: flags over environment over one INI file over the defaults
 * of the table (setting.h). Everything wrong is collected, so that all of it can be said at once.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdio.h>

#include "memory.h"
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

/* One section, filled in. */
typedef struct cli_part {
    const cli_section *section;
    char *name; /* [service NAME]; NULL: the section has none */
    int line;   /* of its heading; 0: not in the file */
    void *values;
    cli_origin *origins; /* one per setting of the section */
} cli_part;

struct cli_config {
    char *path; /* of the file, or NULL */
    cli_part *parts;
    size_t part_count;
    char **problems; /* whole sentences: where, what, what is allowed */
    size_t problem_count;
    char **warnings; /* the same, of what works and is hardly meant; by cli_config_check() */
    size_t warning_count;
};

/* The defaults. */
cli_config *cli_config_new(void);
void cli_config_free(cli_config *config);
CLI_AUTO_DEFINE(cli_config, cli_config_free);

/* Each of these overrides what was read before it, and adds problems. */
void cli_config_read_file(cli_config *config, const char *path);
void cli_config_read_text(cli_config *config, const char *path, const char *text, size_t size);
void cli_config_read_environment(cli_config *config);
/* `flags` as cli_config_options() numbers them; NULL where a flag was not given. */
void cli_config_read_flags(cli_config *config, const cli_common *common, const char *const *flags);

/* What no value alone can show: what belongs together, what is missing, what must be readable. */
void cli_config_check(cli_config *config);

/* The settings of a verb with the options of cli_config_options(). */
typedef struct cli_config_flags {
    const char *settings[32];
} cli_config_flags;
/* All of the above but the check, which is left to the verb. Of a verb without these options only
 * the common ones are flags. */
cli_config *cli_config_load(const cli_args *args);
/* PAWL_E_INVALID if there are problems: all but the last are printed, that one is the error. */
pawl_status cli_config_refuse(const cli_config *config, pawl_error *err);
/* One option for every setting that has a flag and is not a common option. */
const cli_option *cli_config_options(size_t *ret_count);

/* The values of a section that has no name: a `cli_..._settings`. */
const void *cli_config_values(const cli_config *config, cli_section_id id);
/* The parts of a section that has names, one after the other: NULL begins, and ends. */
const cli_part *cli_config_next(const cli_config *config, cli_section_id id, const cli_part *last);

void cli_config_problem(cli_config *config, const char *format, ...) PAWL_PRINTF(2, 3);
void cli_config_warn(cli_config *config, const char *format, ...) PAWL_PRINTF(2, 3);
/* Where the setting was set: "pawl.ini:3: [server] listen", "PAWL_SERVER_LISTEN", "--listen". */
char *cli_config_where(const cli_config *config, const cli_part *part, const cli_setting *setting);
/* For the files of the configuration only. */
cli_part *cli_config_part(cli_config *config, const cli_section *section, const char *name);
/* Read one value; problems begin with where it stands. */
void cli_config_set(cli_config *config, cli_part *part, const cli_setting *setting,
                    const char *text, cli_origin origin);

/* To stdout, as an INI file that says where everything comes from, or as JSON. */
void cli_config_print(const cli_config *config, bool json);
/* The manual of all settings, in Markdown: docs/configuration.md. */
void cli_config_reference(FILE *stream);

#endif
