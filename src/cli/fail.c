/* src/cli/fail.c - errors: filled in where they happen, printed once, by main. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "fail.h"
#include "output.h"
#include "screen.h"

pawl_status cli_fail(pawl_error *err, pawl_status status, const char *format, ...)
{
    pawl_error filled = PAWL_ERROR_INIT;
    va_list arguments;

    filled.status = status;
    filled.retryable = pawl_status_retryable(status);
    va_start(arguments, format);
    vsnprintf(filled.message, sizeof filled.message, format, arguments);
    va_end(arguments);
    *err = filled;
    return status;
}

static void print_json(const pawl_error *err)
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
        print_json(err);
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
    cli_screen_print("pawl: %s\n", line);
}
