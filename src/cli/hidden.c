/* src/cli/hidden.c - the variables that commands do not inherit, because they hold a secret. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "hidden.h"
#include "memory.h"
#include "secret.h"

/* They stay in our own environment: libpq and a reload read them again. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char **items;
    size_t count;
} names;

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

/* With the lock held. */
static bool is_known(const char *name, size_t length)
{
    for (size_t i = 0; i < names.count; i++)
        if (strlen(names.items[i]) == length && strncmp(names.items[i], name, length) == 0)
            return true;
    return false;
}

static void add(const char *name, size_t length)
{
    if (is_known(name, length))
        return;
    names.items = cli_grow(names.items, names.count + 1, sizeof *names.items);
    names.items[names.count++] = cli_copy_bytes(name, length);
}

static void add_sources(const cli_texts *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        const char *name = cli_secret_variable(sources->items[i]);
        if (name)
            add(name, strlen(name));
    }
}

static bool has_password(const char *url)
{
    CLI_AUTO_FREE char *shown = cli_url_hide(url);

    return strcmp(shown, url) != 0;
}

static void add_urls(const char *database)
{
    bool secret = database && has_password(database);

    for (char **entry = environ; *entry; entry++) {
        size_t length = name_length(*entry);
        const char *value = (*entry)[length] == '=' ? *entry + length + 1 : "";
        bool ours = strncmp(*entry, "PAWL_", 5) == 0;
        if ((ours && has_password(value)) || (secret && strcmp(value, database) == 0))
            add(*entry, length);
    }
}

void cli_hidden_add(const cli_config *config)
{
    static const char for_libpq[] = "PGPASSWORD";
    const cli_database_settings *database = cli_config_values(config, CLI_SECTION_DATABASE);

    pthread_mutex_lock(&lock);
    add(for_libpq, strlen(for_libpq));
    add_urls(database->url);
    for (size_t i = 0; i < config->part_count; i++) {
        const cli_part *part = &config->parts[i];
        for (size_t k = 0; k < part->section->count; k++)
            if (part->section->settings[k].kind == CLI_VALUE_SECRETS)
                add_sources(
                    (const void *)((const char *)part->values + part->section->settings[k].offset));
    }
    pthread_mutex_unlock(&lock);
}

bool cli_hidden_has(const char *entry)
{
    bool known;

    pthread_mutex_lock(&lock);
    known = is_known(entry, name_length(entry));
    pthread_mutex_unlock(&lock);
    return known;
}
