/* include/pawl/log.h - log records for the application's own log. Without a sink pawl does not log.
 */
#ifndef PAWL_LOG_H
#define PAWL_LOG_H

#include <pawl/export.h>

PAWL_BEGIN_DECLS

typedef enum pawl_log_level {
    PAWL_LOG_DEBUG = 0,
    PAWL_LOG_INFO = 1,
    PAWL_LOG_WARNING = 2,
    PAWL_LOG_ERROR = 3
} pawl_log_level;

/*
 * Receives one log record. Called from within the pawl call that logs, on its thread, with no lock
 * held. `area` is "outbox", "store", ...; `message` is one line without a newline, valid during the
 * call only. Never contains a payload or a secret. Must not call pawl with the same store.
 */
typedef void (*pawl_log_fn)(void *context, pawl_log_level level, const char *area,
                            const char *message);

typedef struct pawl_log_sink {
    pawl_log_fn write; /* NULL: no logging */
    void *context;
    pawl_log_level level; /* minimum level; records below it are not even formatted */
} pawl_log_sink;

/* "debug", "info", "warning", "error". */
PAWL_API const char *pawl_log_level_name(pawl_log_level level);

PAWL_END_DECLS

#endif
