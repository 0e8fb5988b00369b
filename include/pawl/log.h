/* include/pawl/log.h - log records for the application's own log. Without a sink pawl does not log.
 */
#ifndef PAWL_LOG_H
#define PAWL_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/export.h>

PAWL_BEGIN_DECLS

typedef enum pawl_log_level {
    PAWL_LOG_DEBUG = 0,
    PAWL_LOG_INFO = 1,
    PAWL_LOG_WARNING = 2,
    PAWL_LOG_ERROR = 3
} pawl_log_level;

/*
 * One value of a record. Names: message_id, topic, destination, source, correlation_id, attempt,
 * max_attempts, duration_ms, retry_after_ms, error; store (the engine), failures; lease, owner,
 * fence; job, job_id, run_id; count (how many). A record that names such a thing in its message has
 * the field; other values of the message have fields, too, which may be renamed. The struct is
 * fixed: it will not get further members.
 */
typedef struct pawl_log_field {
    const char *name;  /* lower case, digits and '_' */
    const char *value; /* not NULL; text may contain control characters: escape them */
    bool is_number;    /* `value` is a decimal integer */
} pawl_log_field;

/* One log record. Everything is valid during the call only. Members are added only at the end. */
typedef struct pawl_log_record {
    size_t size; /* set by the library: how much of the struct it has filled in */
    pawl_log_level level;
    const char *area;             /* "outbox", "store", ... */
    const char *message;          /* one line without a newline; contains the fields' values */
    const pawl_log_field *fields; /* `field_count` of them, each name at most once */
    size_t field_count;
} pawl_log_record;

/*
 * Receives one log record. Called from within the pawl call that logs, on its thread, while pawl
 * holds no lock. Never contains a payload or a secret. Must not call pawl with the same store.
 */
typedef void (*pawl_log_fn)(void *context, const pawl_log_record *record);

/* Where log records go. The struct is fixed: it will not get further members. */
typedef struct pawl_log_sink {
    pawl_log_fn write; /* NULL: no logging */
    void *context;
    pawl_log_level level; /* minimum level; records below it are not even formatted */
} pawl_log_sink;

/* "debug", "info", "warning", "error". */
PAWL_API const char *pawl_log_level_name(pawl_log_level level);

PAWL_END_DECLS

#endif
