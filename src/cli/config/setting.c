/* src/cli/config/setting.c - one setting: how its value is read, and how it is shown; sources of
 * secrets. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "scope.h"
#include "setting.h"
#include "units.h"

char *cli_setting_variable(const cli_section *section, const cli_setting *setting)
{
    char *name = cli_print("PAWL_%s_%s", section->name, setting->key);

    for (char *at = name; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return name;
}

/* "a|b|c" as "a, b or c". */
static char *choices_text(const char *choices)
{
    size_t left = 1;
    char *words;
    char *at;

    for (const char *c = choices; *c; c++)
        left += *c == '|';
    at = words = cli_alloc(strlen(choices) + left * 4, 1);
    for (; *choices; choices++) {
        if (*choices == '|') {
            const char *between = --left > 1 ? ", " : " or ";
            at = stpcpy(at, between);
        } else {
            *at++ = *choices;
        }
    }
    return words;
}

char *cli_setting_allowed(const cli_setting *setting)
{
    char least[CLI_WHEN_SIZE];
    char most[CLI_WHEN_SIZE];

    switch (setting->kind) {
    case CLI_VALUE_NUMBER:
        return cli_print("an integer from %" PRId64 " to %" PRId64, setting->min, setting->max);
    case CLI_VALUE_SPAN:
        return cli_print("a duration such as 250ms, 30s, 5m or 1h30m, from %s to %s",
                         cli_span_text(setting->min, least), cli_span_text(setting->max, most));
    case CLI_VALUE_SIZE:
        return cli_print("a size such as 512, 64KiB or 1MiB, from %s to %s",
                         cli_size_text(setting->min, least), cli_size_text(setting->max, most));
    case CLI_VALUE_BOOL:
        return cli_copy("on or off");
    case CLI_VALUE_CHOICE:
        return choices_text(setting->choices);
    case CLI_VALUE_LIST:
        return cli_copy("a comma-separated list");
    case CLI_VALUE_SECRETS:
        return cli_copy("file:PATH or env:NAME, or a comma-separated list of these");
    case CLI_VALUE_TEXT:
    case CLI_VALUE_URL:
        break;
    }
    return cli_copy("a non-empty string");
}

static bool parse_number(const char *text, int64_t *ret_number)
{
    char *end = NULL;
    long long number;

    if (!isdigit((unsigned char)text[0]) && text[0] != '-')
        return false;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        return false;
    *ret_number = number;
    return true;
}

static bool parse_bool(const char *text, bool *ret_value)
{
    static const char *const words[][2] = {
        {"off", "on"}, {"no", "yes"}, {"false", "true"}, {"0", "1"}};

    for (size_t i = 0; i < PAWLI_COUNT(words); i++)
        for (int value = 0; value < 2; value++)
            if (strcasecmp(text, words[i][value]) == 0) {
                *ret_value = value == 1;
                return true;
            }
    return false;
}

static bool parse_choice(const char *choices, const char *text, int64_t *ret_place)
{
    size_t length = strlen(text);

    for (int64_t place = 0;; place++) {
        size_t own = strcspn(choices, "|");
        if (own == length && strncmp(choices, text, length) == 0) {
            *ret_place = place;
            return true;
        }
        if (choices[own] == '\0')
            return false;
        choices += own + 1;
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* The words between the commas, blanks around them left out; false: an empty or a wrong one. */
static bool parse_list(const char *text, bool secrets, cli_texts *list)
{
    cli_texts more = {NULL, 0};
    bool good = true;

    for (const char *at = text; good; at++) {
        size_t length = strcspn(at, ",");
        const char *word = at;
        size_t size = length;
        while (size > 0 && is_space(*word)) {
            word++;
            size--;
        }
        while (size > 0 && is_space(word[size - 1]))
            size--;
        more.items = cli_grow(more.items, more.count + 1, sizeof *more.items);
        more.items[more.count++] = cli_copy_bytes(word, size);
        /* What begins like a comment would be one, were it shown and read again. */
        good = size > 0 && *word != ';' &&
               (!secrets || cli_secret_is_source(more.items[more.count - 1]));
        at += length;
        if (*at == '\0')
            break;
    }
    if (good) {
        list->items = cli_grow(list->items, list->count + more.count, sizeof *list->items);
        memcpy(list->items + list->count, more.items, more.count * sizeof *list->items);
        list->count += more.count;
    }
    for (size_t i = 0; !good && i < more.count; i++)
        free((void *)(uintptr_t)more.items[i]);
    free(more.items);
    return good;
}

static bool number_in_range(const cli_setting *setting, int64_t number, int64_t *field)
{
    if (number < setting->min || number > setting->max)
        return false;
    *field = number;
    return true;
}

static bool store_setting(const cli_setting *setting, void *field, const char *text)
{
    int64_t number = 0;

    switch (setting->kind) {
    case CLI_VALUE_TEXT:
    case CLI_VALUE_URL:
        if (*text == '\0')
            return false;
        free(*(void **)field);
        *(char **)field = cli_copy(text);
        return true;
    case CLI_VALUE_NUMBER:
        return parse_number(text, &number) && number_in_range(setting, number, field);
    case CLI_VALUE_SPAN:
        return cli_span_parse(text, &number) && number_in_range(setting, number, field);
    case CLI_VALUE_SIZE:
        return cli_size_parse(text, &number) && number_in_range(setting, number, field);
    case CLI_VALUE_BOOL:
        return parse_bool(text, field);
    case CLI_VALUE_CHOICE:
        return parse_choice(setting->choices, text, field);
    case CLI_VALUE_LIST:
    case CLI_VALUE_SECRETS:
        return parse_list(text, setting->kind == CLI_VALUE_SECRETS, field);
    }
    return false;
}

bool cli_setting_store(const cli_setting *setting, void *values, const char *text,
                       char **ret_problem)
{
    if (store_setting(setting, (char *)values + setting->offset, text))
        return true;
    PAWLI_AUTO_FREE char *allowed = cli_setting_allowed(setting);
    if (setting->kind == CLI_VALUE_SECRETS || setting->kind == CLI_VALUE_URL || *text == '\0')
        *ret_problem = cli_print("must be %s", allowed);
    else
        *ret_problem = cli_print("must be %s, not '%.80s'", allowed, text);
    return false;
}

static bool setting_is_text(const cli_setting *setting)
{
    return setting->kind == CLI_VALUE_TEXT || setting->kind == CLI_VALUE_URL;
}

/* A number of the library: int, int64_t, size_t or an enum. */
static int64_t read_library_number(const void *member, size_t size)
{
    return size == sizeof(int) ? *(const int *)member : *(const int64_t *)member;
}

void cli_setting_take_default(const cli_setting *setting, void *values)
{
    void *field = (char *)values + setting->offset;

    if (setting->fallback || setting->library == CLI_LIBRARY_NONE || setting_is_text(setting))
        return;
    const void *member =
        (const char *)cli_library_defaults[setting->library] + setting->library_offset;
    if (setting->kind == CLI_VALUE_BOOL)
        *(bool *)field = *(const bool *)member;
    else
        *(int64_t *)field = read_library_number(member, setting->library_size);
}

void cli_setting_fill(const cli_setting *setting, const void *values, void *options)
{
    const void *field = (const char *)values + setting->offset;
    void *member = (char *)options + setting->library_offset;

    if (setting_is_text(setting))
        *(const char **)member = *(char *const *)field;
    else if (setting->kind == CLI_VALUE_BOOL)
        *(bool *)member = *(const bool *)field;
    else if (setting->library_size == sizeof(int))
        *(int *)member = (int)*(const int64_t *)field;
    else
        *(int64_t *)member = *(const int64_t *)field;
}

void cli_setting_done(const cli_setting *setting, void *values)
{
    void *field = (char *)values + setting->offset;
    cli_texts *list = field;

    if (setting_is_text(setting)) {
        free(*(void **)field);
        *(char **)field = NULL;
    } else if (setting->kind == CLI_VALUE_LIST || setting->kind == CLI_VALUE_SECRETS) {
        for (size_t i = 0; i < list->count; i++)
            free((void *)(uintptr_t)list->items[i]);
        free(list->items);
        *list = (cli_texts){NULL, 0};
    }
}

static char *list_text(const cli_texts *list)
{
    char *text = list->count > 0 ? cli_copy(list->items[0]) : NULL;

    for (size_t i = 1; i < list->count; i++) {
        char *longer = cli_print("%s, %s", text, list->items[i]);
        free(text);
        text = longer;
    }
    return text;
}

static char *choice_text(const char *choices, int64_t place)
{
    for (; place > 0; place--)
        choices += strcspn(choices, "|") + 1;
    return cli_copy_bytes(choices, strcspn(choices, "|"));
}

char *cli_setting_text(const cli_setting *setting, const void *values)
{
    const void *field = (const char *)values + setting->offset;
    char text[CLI_WHEN_SIZE];

    switch (setting->kind) {
    case CLI_VALUE_TEXT:
        return *(char *const *)field ? cli_copy(*(char *const *)field) : NULL;
    case CLI_VALUE_URL:
        return *(char *const *)field ? cli_url_hide(*(char *const *)field) : NULL;
    case CLI_VALUE_NUMBER:
        return cli_print("%" PRId64, *(const int64_t *)field);
    case CLI_VALUE_SPAN:
        return cli_copy(cli_span_text(*(const int64_t *)field, text));
    case CLI_VALUE_SIZE:
        return cli_copy(cli_size_text(*(const int64_t *)field, text));
    case CLI_VALUE_BOOL:
        return cli_copy(*(const bool *)field ? "on" : "off");
    case CLI_VALUE_CHOICE:
        return choice_text(setting->choices, *(const int64_t *)field);
    case CLI_VALUE_LIST:
    case CLI_VALUE_SECRETS:
        return list_text(field);
    }
    return NULL;
}

static const char file_source[] = "file:";
static const char environment_source[] = "env:";

static bool text_begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0 && text[strlen(with)] != '\0';
}

bool cli_secret_is_source(const char *text)
{
    return text_begins_with(text, file_source) || text_begins_with(text, environment_source);
}

const char *cli_secret_variable(const char *source)
{
    return text_begins_with(source, environment_source) ? source + strlen(environment_source)
                                                        : NULL;
}

/* Where the password of "scheme://user:password@host" is; too much rather than too little. */
static bool find_in_authority(const char *url, const char **ret_begin, size_t *ret_size)
{
    const char *authority = strstr(url, "://");
    const char *at = authority ? strrchr(authority, '@') : NULL;
    const char *colon = at ? memchr(authority + 3, ':', (size_t)(at - authority) - 3) : NULL;

    if (!colon)
        return false;
    *ret_begin = colon + 1;
    *ret_size = (size_t)(at - colon - 1);
    return true;
}

/* The next "password=..." as a parameter of a URL or in a libpq string, where it may be quoted. */
static bool find_parameter(const char *from, const char **ret_begin, size_t *ret_size)
{
    const char *found = strcasestr(from, "password");

    for (; found; found = strcasestr(found + 1, "password")) {
        const char *value = found + strlen("password");
        value += strspn(value, " ");
        if (*value != '=')
            continue;
        value += 1 + strspn(value + 1, " ");
        const char *end = value;
        if (*value == '\'')
            for (end++; *end && *end != '\'';)
                end += *end == '\\' && end[1] ? 2 : 1;
        *ret_begin = value;
        *ret_size = (size_t)(end - value) + strcspn(end, " &");
        return true;
    }
    return false;
}

char *cli_url_hide(const char *url)
{
    static const char hidden[] = "***";
    const char *begin;
    size_t size;
    char *text = find_in_authority(url, &begin, &size)
                     ? cli_print("%.*s%s%s", (int)(begin - url), url, hidden, begin + size)
                     : cli_copy(url);
    size_t done = 0;

    while (find_parameter(text + done, &begin, &size)) {
        size_t before = (size_t)(begin - text);
        char *next = cli_print("%.*s%s%s", (int)before, text, hidden, begin + size);
        free(text);
        text = next;
        done = before + strlen(hidden);
    }
    return text;
}
