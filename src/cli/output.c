/* src/cli/output.c - colour on terminals, JSON for programs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fail.h"
#include "memory.h"
#include "output.h"
#include "text.h"
#include "when.h"

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
    CLI_AUTO_FREE char *clean = NULL;
    json_t *value = text ? json_string(text) : json_null();

    if (!value && text) {
        clean = cli_text_clean(text, strlen(text), false);
        value = json_string(clean);
    }
    json_object_set_new(object, key, value);
}

void cli_json_time(json_t *object, const char *key, pawl_wall time)
{
    char text[CLI_WHEN_SIZE];

    cli_json_text(object, key, time.us == PAWL_NEVER.us ? NULL : cli_when_rfc3339(time, text));
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
        return cli_fail(err, PAWL_E_IO, "cannot write the output: %s",
                        errno ? strerror(errno) : "the stream is broken");
    return PAWL_OK;
}
