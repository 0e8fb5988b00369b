/* src/cli/config_flags.c - the settings that are flags, and the configuration of a verb. */
#include <string.h>

#include "cli.h"
#include "config.h"
#include "fail.h"
#include "when.h"

/* A flag that every verb has arrives with the common options. */
static const char *common_text(const cli_common *common, const char *flag, bool *ret_is_common,
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

static bool is_common(const char *flag)
{
    static const cli_common none = {0};
    char timeout[CLI_WHEN_SIZE];
    bool found;

    common_text(&none, flag, &found, timeout);
    return found;
}

/* The settings with a flag of their own, in the order of the table. */
static const cli_setting *own_flag(size_t wanted, const cli_section **ret_section)
{
    for (size_t i = 0; i < CLI_SECTION_COUNT; i++)
        for (size_t k = 0; k < cli_sections[i].count; k++) {
            const cli_setting *setting = &cli_sections[i].settings[k];
            if (!setting->flag || is_common(setting->flag) || wanted-- > 0)
                continue;
            *ret_section = &cli_sections[i];
            return setting;
        }
    return NULL;
}

static const char *value_name(const cli_setting *setting)
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
    static cli_option options[CLI_COUNT(((cli_config_flags *)NULL)->settings)];
    size_t count = 0;
    const cli_section *section;
    const cli_setting *setting;

    for (; (setting = own_flag(count, &section)) && count < CLI_COUNT(options); count++)
        options[count] = (cli_option){.name = setting->flag,
                                      .value = value_name(setting),
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
            text = common_text(common, setting->flag, &found, timeout);
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
    return cli_fail(err, PAWL_E_INVALID, "%s", config->problems[config->problem_count - 1]);
}
