/* src/cli/serve/serve_log.c - the daemon's log on stderr: a line per record, as text or as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "log.h"
#include "scope.h"
#include "serve.h"
#include "terminal_text.h"
#include "units.h"
#include "platform.h"

/* In one piece, so that records of several threads do not mix. */
static void write_log_line(const char *line)
{
    size_t left = strlen(line);

    while (left > 0) {
        ssize_t wrote = write(STDERR_FILENO, line, left);
        if (wrote <= 0)
            return; /* there is nowhere to say so */
        line += wrote;
        left -= (size_t)wrote;
    }
}

static void write_log_json(const pawl_log_record *given)
{
    json_t *record = json_object();
    PAWLI_AUTO_FREE char *text = NULL;
    PAWLI_AUTO_FREE char *line = NULL;

    cli_json_text(record, "time", cli_when_rfc3339(pawli_wall_now(), CLI_ROOM));
    cli_json_text(record, "level", pawl_log_level_name(given->level));
    cli_json_text(record, "area", given->area);
    cli_json_text(record, "message", given->message);
    for (size_t i = 0; i < given->field_count; i++) {
        const pawl_log_field *field = &given->fields[i];
        if (field->is_number)
            cli_json_number(record, field->name, strtoll(field->value, NULL, 10));
        else
            cli_json_text(record, field->name, field->value);
    }
    text = json_dumps(record, JSON_COMPACT);
    json_decref(record);
    line = cli_print("%s\n", text ? text : "{}");
    write_log_line(line);
}

static void write_log_text(const pawl_log_record *given)
{
    static const cli_color colors[] = {CLI_DIM, CLI_PLAIN, CLI_YELLOW, CLI_RED};
    PAWLI_AUTO_FREE char *clean = cli_text_clean(given->message, strlen(given->message), true);
    PAWLI_AUTO_FREE char *line =
        cli_print("%s %s%-7s%s %s: %s\n", cli_when_rfc3339(pawli_wall_now(), CLI_ROOM),
                  cli_style(stderr, colors[given->level]), pawl_log_level_name(given->level),
                  cli_style(stderr, CLI_PLAIN), given->area, clean);

    write_log_line(line);
}

/* Any thread. */
static void write_log_record(void *context, const pawl_log_record *record)
{
    const cli_log_settings *log = context;

    if (log->format == CLI_LOG_JSON)
        write_log_json(record);
    else
        write_log_text(record);
}

pawl_log_sink cli_serve_log(const cli_config *config)
{
    const cli_log_settings *log = cli_config_values(config, CLI_SECTION_LOG);

    return (pawl_log_sink){write_log_record, (void *)(uintptr_t)log, (pawl_log_level)log->level};
}

void cli_serve_say(const cli_config *config, pawl_log_level level, const char *text)
{
    pawl_log_sink sink = cli_serve_log(config);

    pawli_log_record(&sink, level, "serve", NULL, text);
}

void cli_serve_say_error(const cli_config *config, pawl_log_level level, const char *error)
{
    pawl_log_sink sink = cli_serve_log(config);

    pawli_log(&sink, level, "serve", "{error}", pawli_logged("error", error));
}
