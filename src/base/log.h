/* src/base/log.h - passing log records to the application's sink. */
#ifndef PAWLI_LOG_H
#define PAWLI_LOG_H

#include <stdint.h>

#include <pawl/id.h>
#include <pawl/log.h>

/* Formats only when the sink's level includes the record. */
void pawli_log(const pawl_log_sink *sink, pawl_log_level level, const char *area,
               const char *format, ...) PAWL_PRINTF(4, 5);

/* Whether a record of that level is passed on: ask before collecting its fields. */
bool pawli_log_enabled(const pawl_log_sink *sink, pawl_log_level level);

#define PAWLI_LOG_FIELDS 8
#define PAWLI_LOG_ROOM 96

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
 * Passes on a record with `fields`. The message is `pattern` with each {name} replaced by the value
 * of that field, at most 255 bytes of it unless it is the last one of the pattern.
 */
void pawli_log_record(const pawl_log_sink *sink, pawl_log_level level, const char *area,
                      const pawli_log_fields *fields, const char *pattern);

#endif
