/* src/cli/config/config.c - the configuration: its values, their origins, its problems. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "config.h"
#include "console.h"
#include "fail.h"
#include "scope.h"
#include "terminal_text.h"
#include "units.h"

static void add_part(cli_config *config, const cli_section *section, const char *name)
{
    static const cli_origin by_default = {CLI_FROM_DEFAULT, 0};
    size_t place = config->part_count++;
    cli_part *part;

    config->parts = cli_grow(config->parts, config->part_count, sizeof *config->parts);
    part = &config->parts[place];
    *part = (cli_part){.section = section};
    part->name = name ? cli_copy(name) : NULL;
    part->values = cli_alloc(1, section->size);
    part->origins = cli_alloc(section->count, sizeof *part->origins);
    for (size_t i = 0; i < section->count; i++) {
        const cli_setting *setting = &section->settings[i];
        cli_setting_take_default(setting, part->values);
        if (setting->fallback)
            cli_config_set(config, part, setting, setting->fallback, by_default);
    }
}

cli_config *cli_config_new(void)
{
    cli_config *config = cli_alloc(1, sizeof *config);

    for (size_t i = 0; i < CLI_SECTION_COUNT; i++)
        if (!cli_sections[i].named)
            add_part(config, &cli_sections[i], NULL);
    return config;
}

void cli_config_free(cli_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->part_count; i++) {
        cli_part *part = &config->parts[i];
        for (size_t k = 0; k < part->section->count; k++)
            cli_setting_done(&part->section->settings[k], part->values);
        free(part->name);
        free(part->values);
        free(part->origins);
    }
    for (size_t i = 0; i < config->problem_count; i++)
        free(config->problems[i]);
    for (size_t i = 0; i < config->warning_count; i++)
        free(config->warnings[i]);
    free(config->problems);
    free(config->warnings);
    free(config->parts);
    free(config->path);
    free(config);
}

/* Bytes of the file may be in it: they must not steer a terminal. */
static void add_sentence(char ***texts, size_t *count, const char *format, va_list arguments)
    PAWL_PRINTF(3, 0);
static void add_sentence(char ***texts, size_t *count, const char *format, va_list arguments)
{
    PAWLI_AUTO_FREE char *text = NULL;

    if (vasprintf(&text, format, arguments) < 0)
        text = cli_copy("out of memory");
    *texts = cli_grow(*texts, *count + 1, sizeof **texts);
    (*texts)[(*count)++] = cli_text_clean(text, strlen(text), true);
}

void cli_config_problem(cli_config *config, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_sentence(&config->problems, &config->problem_count, format, arguments);
    va_end(arguments);
}

void cli_config_warn(cli_config *config, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_sentence(&config->warnings, &config->warning_count, format, arguments);
    va_end(arguments);
}

static bool is_part(const cli_part *part, const cli_section *section, const char *name)
{
    if (part->section != section)
        return false;
    return !section->named || (name && strcmp(part->name, name) == 0);
}

cli_part *cli_config_part(cli_config *config, const cli_section *section, const char *name)
{
    for (size_t i = 0; i < config->part_count; i++)
        if (is_part(&config->parts[i], section, name))
            return &config->parts[i];
    add_part(config, section, name);
    return &config->parts[config->part_count - 1];
}

const void *cli_config_values(const cli_config *config, cli_section_id id)
{
    for (size_t i = 0; i < config->part_count; i++)
        if (config->parts[i].section == &cli_sections[id])
            return config->parts[i].values;
    return NULL;
}

void cli_part_fill(const cli_part *part, cli_library library, void *options)
{
    for (size_t i = 0; i < part->section->count; i++)
        if (part->section->settings[i].library == library)
            cli_setting_fill(&part->section->settings[i], part->values, options);
}

void cli_config_fill(const cli_config *config, cli_library library, void *options)
{
    for (size_t i = 0; i < config->part_count; i++)
        if (!config->parts[i].section->named)
            cli_part_fill(&config->parts[i], library, options);
}

const cli_part *cli_config_next(const cli_config *config, cli_section_id id, const cli_part *last)
{
    for (size_t i = last ? (size_t)(last - config->parts) + 1 : 0; i < config->part_count; i++)
        if (config->parts[i].section == &cli_sections[id])
            return &config->parts[i];
    return NULL;
}

static char *setting_location(const cli_config *config, const cli_part *part,
                              const cli_setting *setting, cli_origin origin)
{
    const char *space = part->name ? " " : "";
    const char *name = part->name ? part->name : "";

    switch (origin.kind) {
    case CLI_FROM_FLAG:
        return cli_print("--%s", setting->flag);
    case CLI_FROM_ENVIRONMENT:
        return cli_setting_variable(part->section, setting);
    case CLI_FROM_FILE:
        return cli_print("%s:%d: [%s%s%s] %s", config->path, origin.line, part->section->name,
                         space, name, setting->key);
    case CLI_FROM_DEFAULT:
        break;
    }
    return cli_print("[%s%s%s] %s", part->section->name, space, name, setting->key);
}

char *cli_config_where(const cli_config *config, const cli_part *part, const cli_setting *setting)
{
    return setting_location(config, part, setting,
                            part->origins[setting - part->section->settings]);
}

static bool is_list_setting(const cli_setting *setting)
{
    return setting->kind == CLI_VALUE_LIST || setting->kind == CLI_VALUE_SECRETS;
}

void cli_config_set(cli_config *config, cli_part *part, const cli_setting *setting,
                    const char *text, cli_origin origin)
{
    cli_origin *before = &part->origins[setting - part->section->settings];
    bool goes_on = origin.kind == CLI_FROM_FILE && before->kind == CLI_FROM_FILE;
    PAWLI_AUTO_FREE char *problem = NULL;

    if (goes_on && !is_list_setting(setting))
        problem = cli_print("is set twice, here and in line %d", before->line);
    if (is_list_setting(setting) && !goes_on) /* a list grows from line to line of the file only */
        cli_setting_done(setting, part->values);
    if (problem || !cli_setting_store(setting, part->values, text, &problem)) {
        PAWLI_AUTO_FREE char *place = setting_location(config, part, setting, origin);
        cli_config_problem(config, "%s %s", place, problem);
    }
    *before = origin;
}

void cli_config_read_environment(cli_config *config)
{
    static const cli_origin from = {CLI_FROM_ENVIRONMENT, 0};

    for (size_t i = 0; i < config->part_count; i++) {
        cli_part *part = &config->parts[i];
        for (size_t k = 0; !part->section->named && k < part->section->count; k++) {
            PAWLI_AUTO_FREE char *name =
                cli_setting_variable(part->section, &part->section->settings[k]);
            const char *value = getenv(name);
            if (value && *value)
                cli_config_set(config, part, &part->section->settings[k], value, from);
        }
    }
}

/* A flag that every verb has arrives with the common options. */
static const char *common_flag_text(const cli_common *common, const char *flag, bool *ret_is_common,
                                    char timeout[CLI_WHEN_SIZE])
{
    *ret_is_common = true;
    if (strcmp(flag, "db") == 0)
        return common->db;
    if (strcmp(flag, "schema") == 0)
        return common->schema;
    if (strcmp(flag, "prefix") == 0)
        return common->prefix;
    if (strcmp(flag, "timeout") == 0)
        return common->timeout_ms > 0 ? cli_span_text(common->timeout_ms, timeout) : NULL;
    *ret_is_common = false;
    return NULL;
}

static bool is_common_flag(const char *flag)
{
    static const cli_common none = {0};
    char timeout[CLI_WHEN_SIZE];
    bool found;

    common_flag_text(&none, flag, &found, timeout);
    return found;
}

/* The settings with a flag of their own, in the order of the table. */
static const cli_setting *find_own_flag(size_t wanted, const cli_section **ret_section)
{
    for (size_t i = 0; i < CLI_SECTION_COUNT; i++)
        for (size_t k = 0; k < cli_sections[i].count; k++) {
            const cli_setting *setting = &cli_sections[i].settings[k];
            if (!setting->flag || is_common_flag(setting->flag) || wanted-- > 0)
                continue;
            *ret_section = &cli_sections[i];
            return setting;
        }
    return NULL;
}

static const char *flag_value_name(const cli_setting *setting)
{
    switch (setting->kind) {
    case CLI_VALUE_SPAN:
        return "TIME";
    case CLI_VALUE_SIZE:
        return "SIZE";
    case CLI_VALUE_SECRETS:
        return "SOURCE";
    case CLI_VALUE_CHOICE:
        return setting->choices;
    case CLI_VALUE_NUMBER:
        return "N";
    default:
        return setting->value ? setting->value : "TEXT";
    }
}

const cli_option *cli_config_options(size_t *ret_count)
{
    static cli_option options[PAWLI_COUNT(((cli_config_flags *)NULL)->settings)];
    size_t count = 0;
    const cli_section *section;
    const cli_setting *setting;

    for (; (setting = find_own_flag(count, &section)) && count < PAWLI_COUNT(options); count++)
        options[count] = (cli_option){.name = setting->flag,
                                      .value = flag_value_name(setting),
                                      .help = setting->help,
                                      .kind = CLI_TEXT,
                                      .offset = offsetof(cli_config_flags, settings) +
                                                count * sizeof(const char *)};
    *ret_count = count;
    return options;
}

void cli_config_read_flags(cli_config *config, const cli_common *common, const char *const *flags)
{
    static const cli_origin from = {CLI_FROM_FLAG, 0};
    size_t own = 0;

    for (size_t i = 0; i < CLI_SECTION_COUNT; i++)
        for (size_t k = 0; k < cli_sections[i].count; k++) {
            const cli_setting *setting = &cli_sections[i].settings[k];
            char timeout[CLI_WHEN_SIZE];
            bool found;
            const char *text;
            if (!setting->flag)
                continue;
            text = common_flag_text(common, setting->flag, &found, timeout);
            if (!found)
                text = flags ? flags[own++] : NULL;
            if (text)
                cli_config_set(config, cli_config_part(config, &cli_sections[i], NULL), setting,
                               text, from);
        }
}

cli_config *cli_config_load(const cli_args *args)
{
    cli_config *config = cli_config_new();
    const char *path = args->common.config ? args->common.config : getenv("PAWL_CONFIG");
    const cli_config_flags *own =
        args->verb->make_options == cli_config_options ? args->settings : NULL;

    if (path && *path)
        cli_config_read_file(config, path);
    cli_config_read_environment(config);
    cli_config_read_flags(config, &args->common, own ? own->settings : NULL);
    return config;
}

pawl_status cli_config_refuse(const cli_config *config, pawl_error *err)
{
    if (config->problem_count == 0)
        return PAWL_OK;
    for (size_t i = 0; i + 1 < config->problem_count; i++)
        cli_note("%s", config->problems[i]);
    return pawli_fail(err, PAWL_E_INVALID, "%s", config->problems[config->problem_count - 1]);
}
