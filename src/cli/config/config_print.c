/* src/cli/config/config_print.c - the configuration with the origin of every value, and the
 * reference of all settings. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "console.h"
#include "scope.h"

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
        PAWLI_AUTO_FREE char *value = cli_setting_text(setting, part->values);
        PAWLI_AUTO_FREE char *origin = origin_text(part, setting, part->origins[i]);
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
        PAWLI_AUTO_FREE char *value = cli_setting_text(setting, part->values);
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

static void print_config_json(const cli_config *config)
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
        print_config_json(config);
        return;
    }
    printf("; the file: %s\n", config->path ? config->path : "none");
    for (size_t i = 0; i < config->part_count; i++)
        print_part(&config->parts[i]);
}

static const char introduction[] =
    "# Configuration\n"
    "\n"
    "Of `pawl serve`; `[database]` is read by every verb. This page is made from the program's "
    "table "
    "of settings by\n`pawl config reference`.\n"
    "\n"
    "A setting is taken from the first of these that has it: a flag, an environment variable, the "
    "file, the default. The\n"
    "file is given by `--config FILE` or `PAWL_CONFIG`; without one, flags and environment are "
    "enough. `pawl config show`\n"
    "prints what holds and where it comes from, `pawl config check` everything that is wrong.\n"
    "\n"
    "```ini\n"
    "; a comment, at the beginning of a line or behind a value and a blank\n"
    "[server]\n"
    "listen = 127.0.0.1:7295\n"
    "service_id = shop\n"
    "\n"
    "[service inventory]\n"
    "url = https://inventory.example.org\n"
    "secret = file:/etc/pawl/inventory.secret\n"
    "\n"
    "[receive OrderApproved]\n"
    "forward = http://127.0.0.1:3000/orders\n"
    "```\n"
    "\n"
    "A key or a section that does not exist is an error, and so is a key that is set twice. A line "
    "has at most 8192 bytes.\n"
    "\n"
    "| written | means |\n"
    "|---|---|\n"
    "| time | `250ms`, `30s`, `5m`, `1h30m`, `7d` |\n"
    "| size | bytes, or `64KiB`, `1MiB`, `1GiB` |\n"
    "| list | words with commas between them; the key may also stand in several lines |\n"
    "| secret | where it comes from: `file:PATH` (the line end at its end is left out) or "
    "`env:NAME`, never the secret itself; at least 16 bytes, and a file that not everybody may "
    "read. Several, with commas between them, "
    "while it is being changed |\n";

static void write_default(FILE *stream, const cli_section *section, const cli_setting *setting)
{
    PAWLI_AUTO_FREE void *values = cli_alloc(1, section->size);
    PAWLI_AUTO_FREE char *text = NULL;

    cli_setting_take_default(setting, values);
    text = setting->fallback ? cli_copy(setting->fallback) : cli_setting_text(setting, values);
    if (text)
        fprintf(stream, "`%s`", text);
    else
        fputs("not set", stream);
}

/* "|" would end the cell. */
static void write_cell(FILE *stream, const char *text)
{
    for (; *text; text++)
        fprintf(stream, *text == '|' ? "\\%c" : "%c", *text);
}

static void write_setting(FILE *stream, const cli_section *section, const cli_setting *setting)
{
    bool is_text = setting->kind == CLI_VALUE_TEXT || setting->kind == CLI_VALUE_URL;
    PAWLI_AUTO_FREE char *allowed = cli_setting_allowed(setting);
    PAWLI_AUTO_FREE char *variable = cli_setting_variable(section, setting);

    fprintf(stream, "| `%s` | ", setting->key);
    write_cell(stream, is_text && setting->value ? setting->value : allowed);
    fputs(" | ", stream);
    write_default(stream, section, setting);
    if (!section->named) {
        fprintf(stream, " | `%s`", variable);
        if (setting->flag)
            fprintf(stream, ", `--%s`", setting->flag);
    }
    fputs(" | ", stream);
    write_cell(stream, setting->help);
    fputs(" |\n", stream);
}

void cli_config_reference(FILE *stream)
{
    fputs(introduction, stream);
    for (size_t i = 0; i < CLI_SECTION_COUNT; i++) {
        const cli_section *section = &cli_sections[i];
        fprintf(stream, "\n## [%s%s%s]\n\n%s\n\n", section->name, section->named ? " " : "",
                section->named ? section->named : "", section->about);
        fputs(section->named
                  ? "| key | value | default | meaning |\n|---|---|---|---|\n"
                  : "| key | value | default | also as | meaning |\n|---|---|---|---|---|\n",
              stream);
        for (size_t k = 0; k < section->count; k++)
            write_setting(stream, section, &section->settings[k]);
    }
}
