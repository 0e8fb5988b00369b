/* src/cli/topics.c - the topics of `pawl work`, and how many commands each may have at a time. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "topics.h"

void cli_topics_done(cli_topics *topics)
{
    for (size_t i = 0; i < topics->count; i++)
        free(topics->items[i].name);
    free(topics->items);
    *topics = (cli_topics){0};
}

/* The name at *at, which moves behind it: to a colon, a comma or the end. free() it. */
static char *read_name(const char **at)
{
    char *name = cli_copy(*at);
    size_t length = 0;

    while (**at && **at != ',' && **at != ':') {
        if (**at == '\\' && (*at)[1] && strchr(",:\\", (*at)[1]))
            (*at)++;
        name[length++] = *(*at)++;
    }
    name[length] = '\0';
    return name;
}

/* The number behind a colon; *at moves behind it. */
static pawl_status read_limit(const char *given, const char **at, int *ret_limit, pawl_error *err)
{
    char *end = NULL;
    long limit = 0;

    *ret_limit = 0;
    if (**at != ':')
        return PAWL_OK;
    (*at)++;
    if (isdigit((unsigned char)**at))
        limit = strtol(*at, &end, 10);
    if (!end || (*end && *end != ',') || limit < 1 || limit > CLI_COMMANDS_MAX)
        return cli_fail(err, PAWL_E_INVALID,
                        "--topic '%s': behind a colon stands a number from 1 to %d; a colon that "
                        "belongs to the name is written \\:",
                        given, CLI_COMMANDS_MAX);
    *at = end;
    *ret_limit = (int)limit;
    return PAWL_OK;
}

static pawl_status add(cli_topics *topics, char *take_name, int limit, pawl_error *err)
{
    for (size_t i = 0; i < topics->count; i++) {
        if (strcmp(topics->items[i].name, take_name) != 0)
            continue;
        free(take_name);
        if (topics->items[i].limit == limit)
            return PAWL_OK;
        return cli_fail(err, PAWL_E_INVALID, "--topic names '%s' twice, with two limits",
                        topics->items[i].name);
    }
    topics->items = cli_grow(topics->items, topics->count + 1, sizeof *topics->items);
    topics->items[topics->count++] = (cli_topic){take_name, limit};
    return PAWL_OK;
}

static pawl_status parse_one(const char *given, cli_topics *topics, pawl_error *err)
{
    const char *at = given;
    pawl_status st = PAWL_OK;

    for (bool more = true; more && st == PAWL_OK;) {
        char *name = read_name(&at);
        int limit = 0;
        if (!*name)
            st = cli_fail(err, PAWL_E_INVALID,
                          "--topic '%s' names an empty topic; a comma that belongs to the name is "
                          "written \\,",
                          given);
        if (st == PAWL_OK)
            st = read_limit(given, &at, &limit, err);
        if (st == PAWL_OK)
            st = add(topics, name, limit, err);
        else
            free(name);
        more = *at == ',';
        at += more;
    }
    return st;
}

pawl_status cli_topics_parse(const cli_texts *given, cli_topics *topics, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < given->count && st == PAWL_OK; i++)
        st = parse_one(given->items[i], topics, err);
    return st;
}

int cli_topics_concurrency(const cli_topics *topics)
{
    int sum = 0;
    bool limited = false;

    for (size_t i = 0; i < topics->count && sum < CLI_COMMANDS_MAX; i++) {
        limited |= topics->items[i].limit > 0;
        sum += topics->items[i].limit > 0 ? topics->items[i].limit : 1;
    }
    if (!limited)
        return 1;
    return sum < CLI_COMMANDS_MAX ? sum : CLI_COMMANDS_MAX;
}
