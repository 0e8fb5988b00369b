/* tests/harness/log_check.c - whatever the sentence of a log record names is a field of it. */
#include "log_check.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAKEN '\x01'      /* replaces what is a field's value */
#define LINE_MAX_SIZE 767 /* a longer message was cut, perhaps within a value */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Twice: a test that lets one allocation fail means one of the library's. */
static char *copy(const char *text, size_t size)
{
    char *copied = strndup(text, size);

    if (!copied && !(copied = strndup(text, size)))
        abort();
    return copied;
}

/* As whole words only: a topic 't' is not part of "attempt". */
static void take(char *message, const char *value, size_t size)
{
    for (char *at = message; (at = strstr(at, value)) != NULL; at++) {
        if (at > message && is_word(at[-1]) && is_word(value[0]))
            continue;
        if (is_word(at[size]) && is_word(value[size - 1]))
            continue;
        memset(at, TAKEN, size);
    }
}

/* As log.c writes it: one line, and long values truncated. */
static void take_field(char *message, const pawl_log_field *field)
{
    char *value = copy(field->value, strlen(field->value));

    for (char *at = value; *at; at++)
        if ((unsigned char)*at < 0x20)
            *at = ' ';
    if (*value) {
        take(message, value, strlen(value));
        if (strlen(value) > 255) {
            value[255] = '\0';
            take(message, value, 255);
        }
    }
    free(value);
}

/* "in 4s", "in about 1m 4s": the field is in milliseconds. */
static bool is_span(const char *message, const char *number)
{
    const char *before = number - 2;

    if (number - message >= 3 && memcmp(number - 3, "in ", 3) == 0)
        return true;
    if (number - message >= 6 && memcmp(number - 6, "about ", 6) == 0)
        return true;
    if (before <= message || before[1] != ' ' || !isalpha((unsigned char)*before))
        return false;
    while (before > message && isdigit((unsigned char)before[-1]))
        before--;
    return isdigit((unsigned char)*before) && is_span(message, before);
}

/* The value that begins at `at`; its size in *ret_size. */
static bool is_value(const char *message, const char *at, size_t *ret_size)
{
    bool begins = at == message || (!is_word(at[-1]) && at[-1] != TAKEN);

    if (begins && isdigit((unsigned char)*at) && !is_span(message, at)) {
        for (*ret_size = 0; is_word(at[*ret_size]) || at[*ret_size] == '-';)
            ++*ret_size;
        return true;
    }
    if (begins && *at == '\'' && at[1] != TAKEN && strncmp(at + 1, "pawl ", 5) != 0) {
        const char *end = strchr(at + 1, '\'');
        *ret_size = end ? (size_t)(end - at) + 1 : strlen(at);
        return true;
    }
    return false;
}

/* The longest that is left of the fields; NULL: none. A short value may be a part of a long one. */
static const pawl_log_field *longest(const pawl_log_record *record, size_t below)
{
    const pawl_log_field *found = NULL;

    for (size_t i = 0; i < record->field_count; i++) {
        size_t size = strlen(record->fields[i].value);
        if (size < below && (!found || size > strlen(found->value)))
            found = &record->fields[i];
    }
    return found;
}

static void take_fields(char *message, const pawl_log_record *record)
{
    const pawl_log_field *next;
    size_t below = SIZE_MAX;

    while ((next = longest(record, below)) != NULL) {
        below = strlen(next->value);
        for (size_t i = 0; i < record->field_count; i++)
            if (strlen(record->fields[i].value) == below)
                take_field(message, &record->fields[i]);
    }
}

char *log_check(const pawl_log_record *record)
{
    char *message = copy(record->message, strlen(record->message));
    char *found = NULL;
    size_t size;

    take_fields(message, record);
    for (const char *at = message; *at && !found && strlen(message) < LINE_MAX_SIZE; at++)
        if (is_value(message, at, &size))
            found = copy(at, size);
    free(message);
    return found;
}
