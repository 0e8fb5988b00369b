/* src/cli/terminal/console.c - color on terminals, JSON for programs, errors, and asking for
 * confirmation. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <jansson.h>

#include "console.h"
#include "fail.h"
#include "alloc.h"
#include "scope.h"
#include "terminal_line.h"
#include "terminal_text.h"
#include "units.h"

static bool wants_color(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (no_color && *no_color)
        return false;
    if (!term || !*term || strcmp(term, "dumb") == 0)
        return false;
    return isatty(fileno(stream)) == 1;
}

const char *cli_style(FILE *stream, cli_color color)
{
    static const char *const sequences[] = {
        [CLI_PLAIN] = "\033[0m", [CLI_BOLD] = "\033[1m",     [CLI_DIM] = "\033[2m",
        [CLI_RED] = "\033[31m",  [CLI_GREEN] = "\033[32m",   [CLI_YELLOW] = "\033[33m",
        [CLI_BLUE] = "\033[34m", [CLI_MAGENTA] = "\033[35m",
    };

    return wants_color(stream) ? sequences[color] : "";
}

size_t cli_width(FILE *stream)
{
    struct winsize size;

    if (isatty(fileno(stream)) != 1)
        return 0;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

void cli_json_print(FILE *stream, json_t *take_document)
{
    json_dumpf(take_document, stream, JSON_INDENT(2) | JSON_ENCODE_ANY);
    fputc('\n', stream);
    json_decref(take_document);
}

void cli_json_text(json_t *object, const char *key, const char *text)
{
    PAWLI_AUTO_FREE char *clean = NULL;
    json_t *value = text ? json_string(text) : json_null();

    if (!value && text) {
        clean = cli_text_clean(text, strlen(text), false);
        value = json_string(clean);
    }
    json_object_set_new(object, key, value);
}

void cli_json_time(json_t *object, const char *key, pawl_wall time)
{
    cli_json_text(object, key,
                  time.us == PAWL_TIME_UNSET.us ? NULL : cli_when_rfc3339(time, CLI_ROOM));
}

void cli_json_number(json_t *object, const char *key, long long number)
{
    json_object_set_new(object, key, json_integer(number));
}

pawl_status cli_output_end(pawl_error *err)
{
    bool failed = ferror(stdout) != 0;

    errno = 0;
    if (fflush(stdout) != 0 || failed)
        return pawli_fail(err, PAWL_E_IO, "cannot write the output: %s",
                          errno ? strerror(errno) : "the stream is broken");
    return PAWL_OK;
}

static void print_error_json(const pawl_error *err)
{
    json_t *body = json_object();

    cli_json_text(body, "status", pawl_status_name(err->status));
    cli_json_text(body, "message", err->message);
    json_object_set_new(body, "retryable", json_boolean(err->retryable));
    if (err->sqlstate[0])
        cli_json_text(body, "sqlstate", err->sqlstate);
    cli_json_print(stderr, json_pack("{s:o}", "error", body));
}

void cli_fail_print(const pawl_error *err, const char *verb, bool json)
{
    if (json) {
        print_error_json(err);
        return;
    }
    cli_note("%s%s%s", cli_style(stderr, CLI_RED),
             err->message[0] ? err->message : pawl_status_text(err->status),
             cli_style(stderr, CLI_PLAIN));
    if (err->status == PAWL_E_INVALID)
        fprintf(stderr, "Try 'pawl %s%s--help'.\n", verb ? verb : "", verb ? " " : "");
}

void cli_note(const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    cli_terminal_line_print("pawl: %s\n", line);
}

pawl_status cli_confirm_possible(const char *verb, pawl_error *err)
{
    if (isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1)
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_INVALID,
                      "%s asks for confirmation, and stdin is not a terminal; add --yes, or "
                      "--dry-run to see what it would change",
                      verb);
}

bool cli_confirm(const char *question)
{
    char answer[16] = "";

    fflush(stdout);
    fprintf(stderr, "%s%s [y/N]%s ", cli_style(stderr, CLI_BOLD), question,
            cli_style(stderr, CLI_PLAIN));
    fflush(stderr);
    if (!fgets(answer, sizeof answer, stdin)) {
        fputc('\n', stderr);
        return false;
    }
    answer[strcspn(answer, "\r\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}
