/* tests/harness/log_capture.c - a log sink that remembers what it was given. */
#include "log_capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "activity.h"
#include "log_check.h"

void log_capture_init(log_capture *capture)
{
    *capture = (log_capture){.records = NULL};
    pthread_mutex_init(&capture->lock, NULL);
    pthread_cond_init(&capture->written, NULL);
}

void log_capture_clear(log_capture *capture)
{
    pthread_mutex_lock(&capture->lock);
    for (size_t i = 0; i < capture->count; i++) {
        free(capture->records[i].text);
        free(capture->records[i].fields);
    }
    free(capture->records);
    capture->records = NULL;
    capture->count = 0;
    pthread_mutex_unlock(&capture->lock);
}

void log_capture_done(log_capture *capture)
{
    log_capture_clear(capture);
    pthread_cond_destroy(&capture->written);
    pthread_mutex_destroy(&capture->lock);
}

static char *fields_text(const pawl_log_record *record)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (!to)
        return NULL;
    fputc('\n', to);
    for (size_t i = 0; i < record->field_count; i++)
        fprintf(to, "%s=%s%s\n", record->fields[i].name, record->fields[i].is_number ? "#" : "",
                record->fields[i].value);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

/* Every record of every test that captures them. */
static void check_record(const pawl_log_record *record)
{
    char *missing = log_check(record);

    if (!missing)
        return;
    fprintf(stderr, "# a log record names %s, which is in no field of it: %s: %s\n", missing,
            record->area, record->message);
    abort();
}

void log_capture_write(void *context, const pawl_log_record *record)
{
    pawl_log_level level = record->level;
    const char *area = record->area, *message = record->message;
    log_capture *capture = context;
    struct log_record *records;
    char *text = NULL, *fields = NULL;

    check_record(record);
    /* Twice each: a test that lets one allocation fail means one of the library's. */
    if (asprintf(&text, "%s %s: %s", pawl_log_level_name(level), area, message) < 0 &&
        asprintf(&text, "%s %s: %s", pawl_log_level_name(level), area, message) < 0)
        abort();
    if (!(fields = fields_text(record)) && !(fields = fields_text(record)))
        abort();
    pthread_mutex_lock(&capture->lock);
    records = realloc(capture->records, (capture->count + 1) * sizeof *records);
    if (!records)
        records = realloc(capture->records, (capture->count + 1) * sizeof *records);
    if (!records)
        abort();
    records[capture->count++] = (struct log_record){level, text, fields};
    capture->records = records;
    pthread_cond_broadcast(&capture->written);
    pthread_mutex_unlock(&capture->lock);
    activity_report();
}

size_t log_capture_count(log_capture *capture)
{
    size_t count;

    pthread_mutex_lock(&capture->lock);
    count = capture->count;
    pthread_mutex_unlock(&capture->lock);
    return count;
}

const char *log_capture_at(log_capture *capture, size_t index)
{
    const char *text;

    pthread_mutex_lock(&capture->lock);
    text = index < capture->count ? capture->records[index].text : NULL;
    pthread_mutex_unlock(&capture->lock);
    return text;
}

static bool has_record(const log_capture *capture, pawl_log_level level, const char *text_in_it)
{
    bool found = false;

    for (size_t i = 0; i < capture->count && !found; i++)
        found = capture->records[i].level == level && strstr(capture->records[i].text, text_in_it);
    return found;
}

bool log_capture_has(log_capture *capture, pawl_log_level level, const char *text_in_it)
{
    pthread_mutex_lock(&capture->lock);
    bool found = has_record(capture, level, text_in_it);
    pthread_mutex_unlock(&capture->lock);
    return found;
}

bool log_capture_await(log_capture *capture, pawl_log_level level, const char *text_in_it,
                       int seconds)
{
    struct timespec until;
    bool found, late = false;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&capture->lock);
    while (!(found = has_record(capture, level, text_in_it)) && !late)
        late = pthread_cond_timedwait(&capture->written, &capture->lock, &until) == ETIMEDOUT;
    pthread_mutex_unlock(&capture->lock);
    return found;
}

size_t log_capture_times(log_capture *capture, const char *text_in_it)
{
    size_t times = 0;

    pthread_mutex_lock(&capture->lock);
    for (size_t i = 0; i < capture->count; i++)
        times += strstr(capture->records[i].text, text_in_it) != NULL;
    pthread_mutex_unlock(&capture->lock);
    return times;
}

bool log_capture_has_field(log_capture *capture, const char *text_in_it, const char *name,
                           const char *value)
{
    char *wanted = NULL;
    bool found = false;

    if (asprintf(&wanted, "\n%s=%s\n", name, value) < 0)
        abort();
    pthread_mutex_lock(&capture->lock);
    for (size_t i = 0; i < capture->count && !found; i++)
        found = strstr(capture->records[i].text, text_in_it) &&
                strstr(capture->records[i].fields, wanted);
    pthread_mutex_unlock(&capture->lock);
    free(wanted);
    return found;
}
