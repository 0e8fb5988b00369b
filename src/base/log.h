/* src/base/log.h - passing log records to the application's sink. */
#ifndef PAWLI_LOG_H
#define PAWLI_LOG_H

#include <stddef.h>
#include <stdint.h>

#include <pawl/id.h>
#include <pawl/log.h>

/* Whether a record of that level is passed on: ask before collecting its fields. */
bool pawli_log_enabled(const pawl_log_sink *sink, pawl_log_level level);

#define PAWLI_LOG_FIELDS 8
#define PAWLI_LOG_ROOM 160

/*
 * The fields of one record. Initialise it with {0}, and do not copy it: fields point into `room`.
 * Names and texts are borrowed.
 */
typedef struct pawli_log_fields {
    pawl_log_field field[PAWLI_LOG_FIELDS];
    size_t count;
    char room[PAWLI_LOG_ROOM]; /* of numbers and ids */
    size_t used;
} pawli_log_fields;

/* NULL adds no field. */
void pawli_log_text(pawli_log_fields *fields, const char *name, const char *value);
void pawli_log_number(pawli_log_fields *fields, const char *name, int64_t value);
void pawli_log_id(pawli_log_fields *fields, const char *name, pawl_uuid id);

/*
 * Passes on a record with `fields` (NULL: none). The message is `pattern` with each {name} replaced
 * by the value of that field, at most 255 bytes of it unless it is the last one of the pattern.
 * There is no printf form: whatever a sentence names, the record has as a field.
 */
void pawli_log_record(const pawl_log_sink *sink, pawl_log_level level, const char *area,
                      const pawli_log_fields *fields, const char *pattern);

/* One field, for pawli_log(). */
typedef struct pawli_log_value {
    const char *name;
    enum { PAWLI_LOGGED_TEXT, PAWLI_LOGGED_NUMBER, PAWLI_LOGGED_ID } kind;
    const char *text; /* NULL: the record does not get the field */
    int64_t number;
    pawl_uuid id;
} pawli_log_value;

static inline pawli_log_value pawli_logged(const char *name, const char *text)
{
    return (pawli_log_value){.name = name, .text = text};
}

static inline pawli_log_value pawli_logged_number(const char *name, int64_t number)
{
    return (pawli_log_value){.name = name, .kind = PAWLI_LOGGED_NUMBER, .number = number};
}

static inline pawli_log_value pawli_logged_id(const char *name, pawl_uuid id)
{
    return (pawli_log_value){.name = name, .kind = PAWLI_LOGGED_ID, .id = id};
}

/*
 * pawli_log_record() with its fields in the call:
 *
 *     pawli_log(&store->log, PAWL_LOG_INFO, "outbox", "reaped {count} expired leases",
 *               pawli_logged_number("count", (int64_t)changed));
 */
#define pawli_log(sink, level, area, pattern, ...)                                                 \
    pawli_log_values(sink, level, area, pattern, (const pawli_log_value[]){__VA_ARGS__},           \
                     sizeof((const pawli_log_value[]){__VA_ARGS__}) / sizeof(pawli_log_value))

/* Formats only when the sink's level includes the record. At most PAWLI_LOG_FIELDS values. */
void pawli_log_values(const pawl_log_sink *sink, pawl_log_level level, const char *area,
                      const char *pattern, const pawli_log_value *values, size_t count);

#endif
