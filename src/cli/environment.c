/* src/cli/environment.c - what a command learns about its message or its lease. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "environment.h"
#include "hidden.h"
#include "memory.h"

typedef struct builder {
    char **entries;
    size_t count;
} builder;

/* NULL takes the variable away: one that an outer worker set must not reach our command. */
static void put(builder *to, const char *name, const char *value)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < to->count; i++) {
        if (strncmp(to->entries[i], name, length) != 0 || to->entries[i][length] != '=')
            continue;
        free(to->entries[i]);
        to->entries[i--] = to->entries[--to->count];
        to->entries[to->count] = NULL;
    }
    if (value)
        to->entries[to->count++] = cli_print("%s=%s", name, value);
}

static void put_number(builder *to, const char *name, int64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, number);
    put(to, name, text);
}

/* Our own without what holds a secret, with room for `more`. */
static builder copy_ours(size_t more)
{
    builder to = {NULL, 0};
    size_t outer = 0;

    while (environ[outer])
        outer++;
    to.entries = cli_alloc(outer + more + 1, sizeof *to.entries);
    for (size_t i = 0; i < outer; i++)
        if (!cli_hidden_has(environ[i]))
            to.entries[to.count++] = cli_copy(environ[i]);
    return to;
}

char **cli_environment_with(const cli_variable *variables, size_t count)
{
    builder to = copy_ours(count);

    for (size_t i = 0; i < count; i++)
        put(&to, variables[i].name, variables[i].value);
    return to.entries;
}

/* Of a job's run, what the scheduler wrote into the headers; nobody else's headers are believed. */
static void put_run(builder *to, const pawl_message *message)
{
    static const struct {
        const char *variable;
        const char *header;
    } all[] = {{"PAWL_JOB", "pawl-job"},
               {"PAWL_RUN", "pawl-run"},
               {"PAWL_SCHEDULED_AT", "pawl-scheduled-at"}};
    const char *headers = pawl_message_headers(message);
    json_t *object = NULL;

    if (pawl_message_run_id(message) > 0 && headers)
        object = json_loads(headers, 0, NULL);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        put(to, all[i].variable, json_string_value(json_object_get(object, all[i].header)));
    json_decref(object);
}

char **cli_environment_new(const pawl_message *message)
{
    enum { OURS = 13 };
    builder to = copy_ours(OURS);
    char id[PAWL_UUID_TEXT_SIZE];

    pawl_message_id_format(pawl_message_get_id(message), id);
    put(&to, "PAWL_ID", id);
    put_number(&to, "PAWL_WORK_ID", pawl_message_work_id(message).value);
    put(&to, "PAWL_TOPIC", pawl_message_topic(message));
    put(&to, "PAWL_TYPE", pawl_type_name(pawl_message_type(message)));
    put_number(&to, "PAWL_ATTEMPT", pawl_message_attempt(message));
    put_number(&to, "PAWL_MAX_ATTEMPTS", pawl_message_max_attempts(message));
    put_number(&to, "PAWL_FENCE", pawl_message_fence(message));
    put_number(&to, "PAWL_PRIORITY", pawl_message_priority(message));
    put(&to, "PAWL_CORRELATION_ID", pawl_message_correlation_id(message));
    put(&to, "PAWL_HEADERS", pawl_message_headers(message));
    put_run(&to, message);
    return to.entries;
}

void cli_environment_free(char **environment)
{
    for (size_t i = 0; environment && environment[i]; i++)
        free(environment[i]);
    free(environment);
}
