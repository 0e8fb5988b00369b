/* src/cli/config_print.c - the configuration that holds, and where each value comes from. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "output.h"

#define COMMENT_COLUMN 40

/* "line 3", "PAWL_SERVER_LISTEN", "--listen", "default". */
static char *origin_text(const cli_part *part, const cli_setting *setting, cli_origin origin)
{
    switch (origin.kind) {
    case CLI_FROM_FILE:
        return cli_print("line %d", origin.line);
    case CLI_FROM_ENVIRONMENT:
        return cli_setting_variable(part->section, setting);
    case CLI_FROM_FLAG:
        return cli_print("--%s", setting->flag);
    case CLI_FROM_DEFAULT:
        break;
    }
    return cli_copy("default");
}

static void print_part(const cli_part *part)
{
    printf("\n%s[%s%s%s]%s\n", cli_style(stdout, CLI_BOLD), part->section->name,
           part->name ? " " : "", part->name ? part->name : "", cli_style(stdout, CLI_PLAIN));
    for (size_t i = 0; i < part->section->count; i++) {
        const cli_setting *setting = &part->section->settings[i];
        CLI_AUTO_FREE char *value = cli_setting_text(setting, part->values);
        CLI_AUTO_FREE char *origin = origin_text(part, setting, part->origins[i]);
        int used = printf("%s%s = %s", value ? "" : ";", setting->key, value ? value : "");
        printf("%*s %s; %s%s\n", used < COMMENT_COLUMN ? COMMENT_COLUMN - used : 0, "",
               cli_style(stdout, CLI_DIM), value ? origin : "not set",
               cli_style(stdout, CLI_PLAIN));
    }
}

static json_t *part_json(const cli_part *part)
{
    static const char *const kinds[] = {"default", "file", "environment", "flag"};
    json_t *object = json_object();
    json_t *settings = json_array();

    cli_json_text(object, "section", part->section->name);
    cli_json_text(object, "name", part->name);
    for (size_t i = 0; i < part->section->count; i++) {
        const cli_setting *setting = &part->section->settings[i];
        CLI_AUTO_FREE char *value = cli_setting_text(setting, part->values);
        json_t *entry = json_object();
        cli_json_text(entry, "key", setting->key);
        cli_json_text(entry, "value", value);
        cli_json_text(entry, "source", kinds[part->origins[i].kind]);
        if (part->origins[i].kind == CLI_FROM_FILE)
            cli_json_number(entry, "line", part->origins[i].line);
        json_array_append_new(settings, entry);
    }
    json_object_set_new(object, "settings", settings);
    return object;
}

static void print_json(const cli_config *config)
{
    json_t *document = json_object();
    json_t *sections = json_array();

    for (size_t i = 0; i < config->part_count; i++)
        json_array_append_new(sections, part_json(&config->parts[i]));
    cli_json_text(document, "file", config->path);
    json_object_set_new(document, "sections", sections);
    cli_json_print(stdout, document);
}

void cli_config_print(const cli_config *config, bool json)
{
    if (json) {
        print_json(config);
        return;
    }
    printf("; the file: %s\n", config->path ? config->path : "none");
    for (size_t i = 0; i < config->part_count; i++)
        print_part(&config->parts[i]);
}
