/* src/base/log.c - passing log records to the application's sink. */
#include "log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_SIZE 768
#define VALUE_MAX 255 /* so that a long topic leaves room for the rest */

bool pawli_log_enabled(const pawl_log_sink *sink, pawl_log_level level)
{
    return sink->write && level >= sink->level;
}

static void log_pass(const pawl_log_sink *sink, pawl_log_level level, const char *area,
                     const pawli_log_fields *fields, char *message)
{
    /* A topic may contain a newline; a record is one line. */
    for (char *at = message; *at; at++)
        if ((unsigned char)*at < 0x20)
            *at = ' ';
    pawl_log_record record = {
        .size = sizeof record,
        .level = level,
        .area = area,
        .message = message,
        .fields = fields ? fields->field : NULL,
        .field_count = fields ? fields->count : 0,
    };
    sink->write(sink->context, &record);
}

/* ---- fields ---- */

static void log_add(pawli_log_fields *fields, const char *name, const char *value, bool is_number)
{
    assert(fields->count < PAWLI_LOG_FIELDS);
    if (fields->count < PAWLI_LOG_FIELDS)
        fields->field[fields->count++] = (pawl_log_field){name, value, is_number};
}

/* `size` bytes for a number or an id, with the zero byte; NULL: there is no room. */
static char *log_room(pawli_log_fields *fields, size_t size)
{
    if (size > sizeof fields->room - fields->used)
        return NULL;
    fields->used += size;
    return fields->room + fields->used - size;
}

void pawli_log_text(pawli_log_fields *fields, const char *name, const char *value)
{
    if (value)
        log_add(fields, name, value, false);
}

void pawli_log_number(pawli_log_fields *fields, const char *name, int64_t value)
{
    char text[24];
    size_t size = (size_t)snprintf(text, sizeof text, "%" PRId64, value) + 1;
    char *room = log_room(fields, size);

    assert(room);
    if (room)
        log_add(fields, name, memcpy(room, text, size), true);
}

void pawli_log_id(pawli_log_fields *fields, const char *name, pawl_uuid id)
{
    char *room = log_room(fields, PAWL_UUID_TEXT_SIZE);

    assert(room);
    if (!room)
        return;
    pawl_uuid_format(id, room);
    log_add(fields, name, room, false);
}

/* The field whose name is the `size` bytes at `name`; NULL: there is none. */
static const pawl_log_field *log_find(const pawli_log_fields *fields, const char *name, size_t size)
{
    for (size_t i = 0; fields && i < fields->count; i++)
        if (strlen(fields->field[i].name) == size && memcmp(fields->field[i].name, name, size) == 0)
            return &fields->field[i];
    return NULL;
}

static void log_append(char *message, const char *text, size_t size)
{
    size_t used = strlen(message);

    if (size > MESSAGE_SIZE - 1 - used)
        size = MESSAGE_SIZE - 1 - used;
    memcpy(message + used, text, size);
    message[used + size] = 0;
}

void pawli_log_record(const pawl_log_sink *sink, pawl_log_level level, const char *area,
                      const pawli_log_fields *fields, const char *pattern)
{
    char message[MESSAGE_SIZE] = "";

    if (!pawli_log_enabled(sink, level))
        return;
    while (*pattern) {
        size_t plain = strcspn(pattern, "{");
        log_append(message, pattern, plain);
        pattern += plain;
        if (!*pattern)
            break;
        size_t name = strcspn(pattern + 1, "}");
        const pawl_log_field *field = log_find(fields, pattern + 1, name);
        assert(field && pattern[1 + name] == '}');
        pattern += 1 + name + (pattern[1 + name] == '}');
        if (field)
            log_append(message, field->value,
                       strchr(pattern, '{') ? strnlen(field->value, VALUE_MAX)
                                            : strlen(field->value));
    }
    log_pass(sink, level, area, fields, message);
}

void pawli_log_values(const pawl_log_sink *sink, pawl_log_level level, const char *area,
                      const char *pattern, const pawli_log_value *values, size_t count)
{
    pawli_log_fields fields = {0};

    if (!pawli_log_enabled(sink, level))
        return;
    for (size_t i = 0; i < count; i++) {
        const pawli_log_value *value = &values[i];
        if (value->kind == PAWLI_LOGGED_NUMBER)
            pawli_log_number(&fields, value->name, value->number);
        else if (value->kind == PAWLI_LOGGED_ID)
            pawli_log_id(&fields, value->name, value->id);
        else
            pawli_log_text(&fields, value->name, value->text);
    }
    pawli_log_record(sink, level, area, &fields, pattern);
}
