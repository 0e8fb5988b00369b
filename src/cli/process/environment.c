/* src/cli/process/environment.c - the environment of a command: what it learns about its message or
 * its lease, and no secret. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "environment.h"
#include "alloc.h"
#include "scope.h"
#include "setting.h"

/* They stay in our own environment: libpq and a reload read them again. */
static pthread_mutex_t hidden_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char **items;
    size_t count;
} hidden_names;

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

/* With the lock held. */
static bool is_hidden(const char *name, size_t length)
{
    for (size_t i = 0; i < hidden_names.count; i++)
        if (strlen(hidden_names.items[i]) == length &&
            strncmp(hidden_names.items[i], name, length) == 0)
            return true;
    return false;
}

static void hide_name(const char *name, size_t length)
{
    if (is_hidden(name, length))
        return;
    hidden_names.items =
        cli_grow(hidden_names.items, hidden_names.count + 1, sizeof *hidden_names.items);
    hidden_names.items[hidden_names.count++] = cli_copy_bytes(name, length);
}

static void hide_secret_sources(const cli_texts *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        const char *name = cli_secret_variable(sources->items[i]);
        if (name)
            hide_name(name, strlen(name));
    }
}

static bool url_has_password(const char *url)
{
    PAWLI_AUTO_FREE char *shown = cli_url_hide(url);

    return strcmp(shown, url) != 0;
}

static void hide_urls(const char *database)
{
    bool secret = database && url_has_password(database);

    for (char **entry = environ; *entry; entry++) {
        size_t length = name_length(*entry);
        const char *value = (*entry)[length] == '=' ? *entry + length + 1 : "";
        bool ours = strncmp(*entry, "PAWL_", 5) == 0;
        if ((ours && url_has_password(value)) || (secret && strcmp(value, database) == 0))
            hide_name(*entry, length);
    }
}

void cli_hidden_add(const cli_config *config)
{
    static const char for_libpq[] = "PGPASSWORD";
    const cli_database_settings *database = cli_config_values(config, CLI_SECTION_DATABASE);

    pthread_mutex_lock(&hidden_lock);
    hide_name(for_libpq, strlen(for_libpq));
    hide_urls(database->url);
    for (size_t i = 0; i < config->part_count; i++) {
        const cli_part *part = &config->parts[i];
        for (size_t k = 0; k < part->section->count; k++)
            if (part->section->settings[k].kind == CLI_VALUE_SECRETS)
                hide_secret_sources(
                    (const void *)((const char *)part->values + part->section->settings[k].offset));
    }
    pthread_mutex_unlock(&hidden_lock);
}

bool cli_hidden_has(const char *entry)
{
    bool known;

    pthread_mutex_lock(&hidden_lock);
    known = is_hidden(entry, name_length(entry));
    pthread_mutex_unlock(&hidden_lock);
    return known;
}

typedef struct environment_builder {
    char **entries;
    size_t count;
} environment_builder;

/* NULL takes the variable away: one that an outer worker set must not reach our command. */
static void set_variable(environment_builder *to, const char *name, const char *value)
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

static void set_number_variable(environment_builder *to, const char *name, int64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, number);
    set_variable(to, name, text);
}

/* Our own without what holds a secret, with room for `more`. */
static environment_builder copy_environment(size_t more)
{
    environment_builder to = {NULL, 0};
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
    environment_builder to = copy_environment(count);

    for (size_t i = 0; i < count; i++)
        set_variable(&to, variables[i].name, variables[i].value);
    return to.entries;
}

/* Of a job's run, what the scheduler wrote into the headers; headers of other messages are ignored.
 */
static void set_run_variables(environment_builder *to, const pawl_message *message)
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
    for (size_t i = 0; i < PAWLI_COUNT(all); i++)
        set_variable(to, all[i].variable,
                     json_string_value(json_object_get(object, all[i].header)));
    json_decref(object);
}

char **cli_environment_new(const pawl_message *message)
{
    enum { OURS = 13 };
    environment_builder to = copy_environment(OURS);
    char id[PAWL_UUID_TEXT_SIZE];

    pawl_uuid_format(pawl_message_id(message), id);
    set_variable(&to, "PAWL_ID", id);
    set_number_variable(&to, "PAWL_WORK_ID", pawl_message_work_id(message).value);
    set_variable(&to, "PAWL_TOPIC", pawl_message_topic(message));
    set_variable(&to, "PAWL_TYPE", pawl_type_name(pawl_message_type(message)));
    set_number_variable(&to, "PAWL_ATTEMPT", pawl_message_attempt(message));
    set_number_variable(&to, "PAWL_MAX_ATTEMPTS", pawl_message_max_attempts(message));
    set_number_variable(&to, "PAWL_FENCE", pawl_message_fence(message));
    set_number_variable(&to, "PAWL_PRIORITY", pawl_message_priority(message));
    set_variable(&to, "PAWL_CORRELATION_ID", pawl_message_correlation_id(message));
    set_variable(&to, "PAWL_HEADERS", pawl_message_headers(message));
    set_run_variables(&to, message);
    return to.entries;
}

void cli_environment_free(char **environment)
{
    for (size_t i = 0; environment && environment[i]; i++)
        free(environment[i]);
    free(environment);
}
