/*
 * tests/fuzz/config_fuzz.c - any bytes as a configuration file: every problem is a sentence that
 * names its line, and what is shown of it can be read again and says the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "fuzz.h"
#include "terminal_text.h"

static void check_problems(const cli_config *config)
{
    for (size_t i = 0; i < config->problem_count; i++) {
        const char *problem = config->problems[i];
        if (strncmp(problem, "pawl.ini:", 9) != 0 || strtol(problem + 9, NULL, 10) < 1 ||
            strlen(problem) < 20 || !cli_text_printable(problem, strlen(problem)) ||
            strchr(problem, '\n')) {
            fprintf(stderr, "%s\n", problem);
            abort();
        }
    }
}

/* The shown configuration as a file; NULL: a list exceeds the maximum line length. */
static char *shown(const cli_config *config)
{
    char *text = NULL;
    size_t size = 0;
    bool too_long = false;
    FILE *stream = open_memstream(&text, &size);

    for (size_t i = 0; stream && i < config->part_count; i++) {
        const cli_part *part = &config->parts[i];
        fprintf(stream, "[%s %s]\n", part->section->name, part->name ? part->name : "");
        for (size_t k = 0; k < part->section->count; k++) {
            const cli_setting *setting = &part->section->settings[k];
            char *value = cli_setting_text(setting, part->values);
            too_long |= value && strlen(value) > 150;
            if (value && setting->kind != CLI_VALUE_URL) /* a hidden password does not come back */
                fprintf(stream, "%s = %s\n", setting->key, value);
            free(value);
        }
    }
    if (stream)
        fclose(stream);
    if (too_long) {
        free(text);
        return NULL;
    }
    return text;
}

static void check_again(const cli_config *config)
{
    char *once = shown(config);
    cli_config *again;
    char *twice;

    if (!once)
        return;
    again = cli_config_new();
    cli_config_read_text(again, "again", once, strlen(once));
    twice = shown(again);
    if (again->problem_count > 0 || !twice || strcmp(once, twice) != 0) {
        fprintf(stderr, "%s\n--\n%s\n", again->problem_count ? again->problems[0] : once,
                twice ? twice : "");
        abort();
    }
    cli_config_free(again);
    free(twice);
    free(once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_config *config = cli_config_new();

    if (config->problem_count > 0)
        abort(); /* a default that the table itself refuses */
    cli_config_read_text(config, "pawl.ini", (const char *)data, size);
    check_problems(config);
    if (config->problem_count == 0)
        check_again(config);
    cli_config_free(config);
    return 0;
}
