/* src/base/status.c - the status table as functions, and an error as a line of text. */
#include <stddef.h>
#include <stdio.h>

#include <pawl/error.h>

struct status_row {
    const char *name;
    const char *text;
    int retryable;
    int http;
    int exit_code;
};

#define STATUS_ROW(name, number, text, retryable, http, exit_code)                                 \
    [number] = {"PAWL_" #name, text, retryable, http, exit_code},
static const struct status_row rows[] = {PAWL_STATUS_TABLE(STATUS_ROW)};
#undef STATUS_ROW

static const struct status_row unknown = {"unknown status", "unknown status", 0, 500, 70};

static const struct status_row *status_row_of(pawl_status status)
{
    size_t index = (size_t)status;

    if (index >= sizeof rows / sizeof rows[0] || rows[index].name == NULL)
        return &unknown;
    return &rows[index];
}

const char *pawl_status_name(pawl_status status)
{
    return status_row_of(status)->name;
}

const char *pawl_status_text(pawl_status status)
{
    return status_row_of(status)->text;
}

bool pawl_status_retryable(pawl_status status)
{
    return status_row_of(status)->retryable != 0;
}

int pawl_status_http(pawl_status status)
{
    return status_row_of(status)->http;
}

int pawl_status_exit(pawl_status status)
{
    return status_row_of(status)->exit_code;
}

static const char *error_advice(const pawl_error *err)
{
    if (err->status == PAWL_OK)
        return "";
    if (err->status == PAWL_E_IN_DOUBT)
        return " (in doubt: the call may have taken effect)";
    if (err->retryable)
        return " (retryable: the same call may succeed later)";
    return " (not retryable)";
}

void pawl_error_print(FILE *to, const pawl_error *err)
{
    static const pawl_error none = PAWL_ERROR_INIT;
    char message[sizeof none.message];

    if (!err)
        err = &none;
    snprintf(message, sizeof message, "%s",
             err->message[0] ? err->message : pawl_status_text(err->status));
    /* A message may quote a topic that contains a newline; the output is one line. */
    for (char *at = message; *at; at++)
        if ((unsigned char)*at < 0x20)
            *at = ' ';
    fprintf(to, "%s: %s%s\n", pawl_status_name(err->status), message, error_advice(err));
}
