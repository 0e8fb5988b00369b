/* src/worker/task.c - a task, and the index of tasks by message. */
#include "task.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <pawl/tx.h>

#include "fail.h"
#include "log.h"
#include "platform.h"
#include "task_index.h"
#include "text.h"
#include "worker_private.h"

/* ---- the task ---- */

#define ERROR_SIZE 4096
#define DELAY_MAX_MS ((int64_t)36500 * 24 * 3600 * 1000)

const pawl_message *pawl_task_message(const pawl_task *task)
{
    return task->message;
}

int pawl_task_attempt(const pawl_task *task)
{
    return task->dead ? pawl_message_dead_call(task->message) : pawl_message_attempt(task->message);
}

int64_t pawl_task_fence(const pawl_task *task)
{
    return task->receipt.fence;
}

pawl_store *pawl_task_store(const pawl_task *task)
{
    return task->worker->store;
}

bool pawl_task_cancelled(const pawl_task *task)
{
    if (atomic_load(&task->worker->mode) == PAWLI_MODE_STEP)
        (void)pawli_lease_renewer_step(task->worker, NULL); /* the step itself reports a failure */
    return atomic_load(&task->cancelled);
}

/* Only the handler's thread calls this, so it may read the field without the lock. */
pawl_status pawl_task_cancel_fd(pawl_task *task, int *ret_fd, pawl_error *err)
{
    if (task->cancel_fd < 0) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0)
            return pawli_fail_code(err, PAWL_E_NOMEM, errno,
                                   "no file descriptor is available for the task: %s",
                                   strerror(errno));
        pthread_mutex_lock(&task->worker->inflight.lock);
        task->cancel_fd = fd;
        if (atomic_load(&task->cancelled))
            (void)eventfd_write(fd, 1);
        pthread_mutex_unlock(&task->worker->inflight.lock);
    }
    *ret_fd = task->cancel_fd;
    return PAWL_OK;
}

static void close_cancel_fd(pawl_task *task)
{
    int fd = task->cancel_fd;

    if (fd < 0)
        return;
    pthread_mutex_lock(&task->worker->inflight.lock);
    task->cancel_fd = -1;
    pthread_mutex_unlock(&task->worker->inflight.lock);
    close(fd);
}

void pawl_task_set_error(pawl_task *task, const char *error)
{
    char *copy = NULL;

    if (error && *error) {
        size_t room = strlen(error) + 1;
        room = room < ERROR_SIZE ? room : ERROR_SIZE;
        copy = malloc(room);
        if (copy)
            pawli_utf8_clean(error, copy, room);
    }
    free(task->error);
    task->error = copy;
}

void pawl_task_set_retry_delay(pawl_task *task, int64_t delay_ms)
{
    if (delay_ms < 1)
        delay_ms = 1;
    task->delay_ms = delay_ms < DELAY_MAX_MS ? delay_ms : DELAY_MAX_MS;
}

static pawl_status check_alive(const pawl_task *task, const char *what, pawl_error *err)
{
    if (task->dead)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "a dead letter has no %s: its message has already ended", what);
    return PAWL_OK;
}

static pawli_cause cause_of(pawl_task *task)
{
    pthread_mutex_lock(&task->worker->inflight.lock);
    pawli_cause cause = task->cause;
    pthread_mutex_unlock(&task->worker->inflight.lock);
    return cause;
}

static pawl_status check_held(pawl_task *task, pawl_error *err)
{
    if (cause_of(task) == PAWLI_CAUSE_LOST)
        return pawli_fail(err, PAWL_E_LOST,
                          "this worker no longer owns the message: return from the handler");
    return PAWL_OK;
}

pawl_status pawl_task_progress(pawl_task *task, const char *text, pawl_error *err)
{
    pawl_status st = check_alive(task, "progress", err);

    if (st == PAWL_OK)
        st = check_held(task, err);
    if (st == PAWL_OK)
        st =
            pawl_queue_progress(task->worker->store, task->worker->owner, task->receipt, text, err);
    return st;
}

pawl_status pawl_task_output(pawl_task *task, const void *output, size_t output_size,
                             pawl_error *err)
{
    pawli_output copy;
    pawl_status st = check_alive(task, "output", err);

    if (st == PAWL_OK)
        st = pawli_output_copy(output, output_size, &copy, err);
    if (st != PAWL_OK)
        return st;
    pawli_output_done(&task->output);
    task->output = copy;
    return PAWL_OK;
}

pawl_status pawl_task_begin(pawl_task *task, pawl_tx **ret_tx, pawl_error *err)
{
    pawl_status st = check_alive(task, "transaction", err);

    if (st == PAWL_OK)
        st = check_held(task, err);
    if (st != PAWL_OK)
        return st;
    pawl_tx *tx;
    st = pawl_tx_begin_for(task->worker->store, task->worker->owner, task->receipt, &tx, err);
    if (st == PAWL_OK && task->output.data) {
        st = pawl_tx_output(tx, task->output.data, task->output.size, err);
        if (st != PAWL_OK)
            pawl_tx_free(tx);
    }
    if (st == PAWL_OK)
        *ret_tx = tx;
    task->effect |= st == PAWL_OK;
    return st;
}

/* ---- calling the handler ---- */

static void task_log_fields(const pawl_task *task, pawli_log_fields *fields)
{
    pawli_log_id(fields, "message_id", pawl_message_id(task->message));
    pawli_log_text(fields, "topic", pawl_message_topic(task->message));
    pawli_log_number(fields, "attempt", pawl_task_attempt(task));
}

static void log_call(const pawl_task *task)
{
    const pawl_log_sink *log = &task->worker->log;
    pawli_log_fields fields = {0};

    if (!pawli_log_enabled(log, PAWL_LOG_INFO))
        return;
    task_log_fields(task, &fields);
    pawli_log_record(log, PAWL_LOG_INFO, "worker", &fields,
                     task->dead ? "handling message {message_id} of topic '{topic}', attempt "
                                  "{attempt}, a dead letter"
                                : "handling message {message_id} of topic '{topic}', attempt "
                                  "{attempt}");
}

/* A handler that returns because it was cancelled has not failed. */
static void task_log_failure(const pawl_task *task, pawli_cause cause)
{
    const pawl_log_sink *log = &task->worker->log;
    pawli_log_fields fields = {0};
    char pattern[128];

    if (cause > PAWLI_CAUSE_TIMEOUT || !pawli_log_enabled(log, PAWL_LOG_ERROR))
        return;
    task_log_fields(task, &fields);
    pawli_log_number(&fields, "duration_ms", (pawli_mono_now().us - task->started.us) / 1000);
    pawli_log_text(&fields, "error", task->error);
    snprintf(pattern, sizeof pattern,
             "topic '{topic}': %sattempt {attempt} of message {message_id} failed%s: %s",
             task->dead ? "dead-letter " : "",
             task->result == PAWL_RETRY || task->dead ? ", will be retried" : " permanently",
             task->error ? "{error}" : "no reason given");
    pawli_log_record(log, PAWL_LOG_ERROR, "worker", &fields, pattern);
}

static void explain_delay(pawl_task *task)
{
    char why[64];

    snprintf(why, sizeof why, "the handler took longer than %" PRId64 " ms",
             task->timeout_us / 1000);
    pawl_task_set_error(task, why);
}

void pawli_task_run(pawl_task *task)
{
    log_call(task);
    pawl_result result = task->handler->call(task, task->handler->context);
    close_cancel_fd(task);
    if ((unsigned)result > PAWL_RELEASE) {
        pawl_task_set_error(task, "the handler returned an invalid result");
        result = PAWL_RETRY;
    }
    task->result = result;
    if (result == PAWL_DONE || result == PAWL_RELEASE)
        return;
    pawli_cause cause = cause_of(task);
    if (!task->error && cause == PAWLI_CAUSE_TIMEOUT)
        explain_delay(task);
    task_log_failure(task, cause);
}

void pawli_task_refuse(pawl_task *task)
{
    task->result = PAWL_RETRY;
    pawl_task_set_error(task, "no handler is registered for this topic");
}

pawl_result pawli_task_result(const pawl_task *task)
{
    if (pawli_task_lost(task))
        return PAWL_LOST;
    if (task->result == PAWL_RETRY && task->cause == PAWLI_CAUSE_STOP)
        return PAWL_RELEASE;
    return task->result;
}

/* ---- the index of tasks by message ---- */

/* Ids are assigned sequentially, so they spread evenly without hashing. */
static size_t task_index_bucket_of(pawl_work_id id)
{
    return (size_t)id.value & (PAWLI_TASK_INDEX_SIZE - 1);
}

void pawli_task_index_add(pawli_task_index *index, pawl_task *task)
{
    pawl_task **bucket = &index->buckets[task_index_bucket_of(task->receipt.id)];

    task->same_bucket = *bucket;
    *bucket = task;
}

void pawli_task_index_remove(pawli_task_index *index, const pawl_task *task)
{
    pawl_task **at = &index->buckets[task_index_bucket_of(task->receipt.id)];

    while (*at && *at != task)
        at = &(*at)->same_bucket;
    if (*at)
        *at = task->same_bucket;
}

pawl_task *pawli_task_index_next(const pawli_task_index *index, pawl_work_id id,
                                 const pawl_task *before)
{
    pawl_task *task = before ? before->same_bucket : index->buckets[task_index_bucket_of(id)];

    while (task && task->receipt.id.value != id.value)
        task = task->same_bucket;
    return task;
}
