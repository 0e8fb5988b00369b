/* tests/harness/log_capture.h - a log sink that remembers what it was given. */
#ifndef PAWL_TEST_LOG_CAPTURE_H
#define PAWL_TEST_LOG_CAPTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <pawl/log.h>

/* Zero-initialise it. Records arrive on any thread. */
typedef struct log_capture {
    pthread_mutex_t lock;
    pthread_cond_t written;
    struct log_record {
        pawl_log_level level;
        char *text;   /* "warning outbox: text" */
        char *fields; /* "\nname=value\nname=value\n"; a number as name=#value */
    } * records;
    size_t count;
} log_capture;

void log_capture_init(log_capture *capture);
void log_capture_done(log_capture *capture);
/* The pawl_log_fn; a log_capture is its context. Aborts if log_check() finds something. */
void log_capture_write(void *context, const pawl_log_record *record);
size_t log_capture_count(log_capture *capture);
/* Valid until the capture is cleared; NULL when out of range. */
const char *log_capture_at(log_capture *capture, size_t index);
/* Whether a record with `text_in_it` has this field; a number is "#2". */
bool log_capture_has_field(log_capture *capture, const char *text_in_it, const char *name,
                           const char *value);
bool log_capture_has(log_capture *capture, pawl_log_level level, const char *text_in_it);
/* Wait for it; false: it did not come in this many seconds. */
bool log_capture_await(log_capture *capture, pawl_log_level level, const char *text_in_it,
                       int seconds);
/* How many records have it, of any level. */
size_t log_capture_times(log_capture *capture, const char *text_in_it);
void log_capture_clear(log_capture *capture);

#endif
