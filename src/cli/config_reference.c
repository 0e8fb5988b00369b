/* src/cli/config_reference.c - the manual of all settings, made from their table. */
#include <string.h>

#include "config.h"

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

static void write_default(FILE *stream, const cli_setting *setting)
{
    if (setting->fallback)
        fprintf(stream, "`%s`", setting->fallback);
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
    CLI_AUTO_FREE char *allowed = cli_setting_allowed(setting);
    CLI_AUTO_FREE char *variable = cli_setting_variable(section, setting);

    fprintf(stream, "| `%s` | ", setting->key);
    write_cell(stream, is_text && setting->value ? setting->value : allowed);
    fputs(" | ", stream);
    write_default(stream, setting);
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
