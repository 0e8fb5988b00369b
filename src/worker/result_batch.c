/* src/worker/result_batch.c - results of handlers on their way to the store. */
#include "result_batch.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "finish.h"
#include "job_private.h"
#include "log.h"
#include "observer.h"
#include "worker_private.h"

void pawli_result_batch_done(pawli_result_batch *results)
{
    free(results->items);
    free(results->changed);
    *results = (pawli_result_batch){0};
}

bool pawli_result_batch_empty(const pawli_result_batch *results)
{
    return !results->list;
}

static pawl_status results_make_room(pawli_result_batch *results, pawl_error *err)
{
    size_t count = 0;

    for (pawl_task *task = results->list; task; task = task->next_in_line)
        count++;
    if (count <= results->room)
        return PAWL_OK;
    pawl_receipt *items = realloc(results->items, count * sizeof *items);
    results->items = items ? items : results->items;
    bool *changed = realloc(results->changed, count * sizeof *changed);
    results->changed = changed ? changed : results->changed;
    if (!items || !changed)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu results", count);
    results->room = count;
    return PAWL_OK;
}

/* ---- results that are not stored ---- */

static void result_log_fields(const pawl_task *task, pawli_log_fields *fields)
{
    pawli_log_id(fields, "message_id", pawl_message_id(task->message));
    pawli_log_text(fields, "topic", pawl_message_topic(task->message));
    pawli_log_number(fields, "attempt", pawl_task_attempt(task));
    if (task->took_us > 0)
        pawli_log_number(fields, "duration_ms", task->took_us / 1000);
}

static void results_drop(pawl_worker *worker, pawl_task *task)
{
    pawli_observe_dropped(worker, task);
    if (pawli_task_acknowledged(task)) {
        pawli_worker_count(worker, &worker->stats.done, 1);
    } else if (!task->disowned) { /* those were counted when they were released */
        pawli_log_fields fields = {0};
        result_log_fields(task, &fields);
        pawli_log_record(
            &worker->log, PAWL_LOG_WARNING, "worker", &fields,
            "topic '{topic}': the result of message {message_id} was dropped: its lease "
            "was lost, or it was cancelled");
        pawli_worker_count(worker, &worker->stats.lost, 1);
    }
    pawli_inflight_remove_stored(&worker->inflight, task);
}

void pawli_result_batch_gather(pawl_worker *worker)
{
    pawl_task **at = &worker->claim_loop.results.list;

    pawli_inflight_store_again(&worker->inflight, *at);
    while (*at)
        at = &(*at)->next_in_line;
    *at = pawli_inflight_collect(&worker->inflight);
    at = &worker->claim_loop.results.list;
    while (*at) {
        pawl_task *task = *at;
        if (pawli_task_result(task) == PAWL_LOST) {
            *at = task->next_in_line;
            task->next_in_line = NULL;
            results_drop(worker, task);
        } else {
            at = &task->next_in_line;
        }
    }
}

void pawli_result_batch_postpone(pawl_worker *worker)
{
    if (worker->claim_loop.results.list)
        pawli_inflight_keep_results(&worker->inflight, worker->claim_loop.results.list);
}

/* ---- storing results ---- */

static int64_t *counter_of(pawl_worker *worker, const pawl_task *task)
{
    pawl_result result = pawli_task_result(task);

    if (task->dead)
        return result == PAWL_DONE ? &worker->stats.dead : NULL;
    switch (result) {
    case PAWL_DONE:
        return &worker->stats.done;
    case PAWL_RETRY:
        return &worker->stats.retried;
    case PAWL_FAIL:
        return &worker->stats.failed;
    default:
        return &worker->stats.released;
    }
}

static bool results_same(const pawl_task *a, const pawl_task *b)
{
    pawl_result result = pawli_task_result(a);

    if (a->dead != b->dead || result != pawli_task_result(b))
        return false;
    if (result == PAWL_DONE) /* acknowledgements with an output are stored separately */
        return !a->output.data && !b->output.data;
    if (result == PAWL_RELEASE)
        return true;
    if (result == PAWL_RETRY && a->delay_ms != b->delay_ms)
        return false;
    return strcmp(a->error ? a->error : "", b->error ? b->error : "") == 0;
}

/* Moves tasks with the same result as `sample`, as many as fit into one call, to the returned
 * list. */
static pawl_task *results_pick(pawli_result_batch *results, const pawl_task *sample,
                               size_t *ret_count)
{
    pawl_task *picked = NULL, **end = &picked;
    pawl_task **at = &results->list;

    *ret_count = 0;
    while (*at && *ret_count < PAWL_BATCH_MAX) {
        pawl_task *task = *at;
        if (task != sample && !results_same(task, sample)) {
            at = &task->next_in_line;
            continue;
        }
        *at = task->next_in_line;
        task->next_in_line = NULL;
        *end = task;
        end = &task->next_in_line;
        results->items[(*ret_count)++] = task->receipt;
    }
    return picked;
}

static void put_back(pawli_result_batch *results, pawl_task *picked, bool doubt)
{
    pawl_task **at = &results->list;

    for (pawl_task *task = picked; task; task = task->next_in_line)
        task->doubt |= doubt;
    while (*at)
        at = &(*at)->next_in_line;
    *at = picked;
}

/* Tasks that were not changed, although no earlier attempt can have changed them, were lost. */
static void results_stored(pawl_worker *worker, pawl_task *picked, const bool *changed,
                           size_t count)
{
    int64_t *counter = counter_of(worker, picked);
    size_t lost = 0, i = 0;
    bool run = false;

    for (pawl_task *task = picked; task; task = task->next_in_line) {
        bool is_lost = !changed[i++] && !task->doubt && !pawli_task_acknowledged(task);
        pawli_observe_stored(worker, task, is_lost);
        lost += is_lost;
        run |= pawl_message_run_id(task->message) != 0;
    }
    if (run) /* another run of its job may be waiting */
        pawli_jobs_changed(worker->store);
    if (counter)
        pawli_worker_count(worker, counter, count - lost);
    pawli_inflight_remove_stored(&worker->inflight, picked);
    if (lost == 0)
        return;
    pawli_worker_count(worker, &worker->stats.lost, lost);
    pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
              "{lost} of {count} results were rejected: this worker no longer owned the leases",
              pawli_logged_number("lost", (int64_t)lost),
              pawli_logged_number("count", (int64_t)count));
}

/* ---- results that the store rejects ---- */

/* Removes the handler's output and error text, so that the result can be stored without them. */
static void results_strip(pawl_task *task)
{
    pawli_output_done(&task->output);
    free(task->error);
    task->error = NULL;
}

/* Logs once per message, whether only the texts are lost or the whole result. */
static void log_refusal(pawl_worker *worker, const pawl_task *task, bool stored, const char *why)
{
    pawli_log_fields fields = {0};

    result_log_fields(task, &fields);
    pawli_log_text(&fields, "error", why);
    if (stored)
        pawli_log_record(
            &worker->log, PAWL_LOG_WARNING, "worker", &fields,
            "topic '{topic}': the database rejected the error text or output of message "
            "{message_id}, which is discarded: {error}");
    else
        pawli_log_record(
            &worker->log, PAWL_LOG_ERROR, "worker", &fields,
            "topic '{topic}': the database rejected the result of message {message_id}, "
            "which is attempted again when its lease expires: {error}");
}

/* The result is not stored and not retried: its lease is no longer renewed, and expires. */
static void drop_refused(pawl_worker *worker, pawl_task *task)
{
    pawli_observe_dropped(worker, task);
    pawli_worker_count(worker, &worker->stats.lost, 1);
    pawli_inflight_remove_stored(&worker->inflight, task);
}

static pawl_status tell_output(pawl_worker *worker, const pawl_task *task, bool *ret_changed,
                               pawl_error *err)
{
    pawl_status st = pawl_queue_ack_output(worker->store, worker->owner, task->receipt,
                                           task->output.data, task->output.size, err);

    *ret_changed = st == PAWL_OK;
    return st == PAWL_E_LOST ? PAWL_OK : st;
}

static pawl_status results_tell(pawl_worker *worker, const pawl_task *sample,
                                const pawl_receipt *items, size_t count, bool *ret_changed,
                                pawl_error *err)
{
    pawli_changed ret = {.each = ret_changed};

    if (sample->dead)
        return pawli_dead_letters_store(worker, sample, items, count, ret, err);
    switch (pawli_task_result(sample)) {
    case PAWL_DONE:
        if (sample->output.data)
            return tell_output(worker, sample, ret_changed, err);
        return pawli_queue_ack(worker->store, worker->owner, items, count, ret, err);
    case PAWL_RETRY:
        return pawli_queue_abandon(worker->store, worker->owner, items, count, sample->error,
                                   sample->delay_ms, ret, err);
    case PAWL_FAIL:
        return pawli_queue_fail(worker->store, worker->owner, items, count, sample->error, ret,
                                err);
    default:
        return pawli_queue_release(worker->store, worker->owner, items, count, ret, err);
    }
}

/* The store rejected this single result because of `why`: it is retried once, without the
 * handler's texts. */
static pawl_status tell_refused(pawl_worker *worker, pawl_task *task, const pawl_error *why,
                                pawl_error *err)
{
    bool had_text = task->error || task->output.data, changed = false;

    results_strip(task);
    pawl_status st = results_tell(worker, task, &task->receipt, 1, &changed, err);
    if (st == PAWL_OK) {
        if (had_text)
            log_refusal(worker, task, true, why->message);
        results_stored(worker, task, &changed, 1);
    } else if (pawli_store_error_is_refusal(st)) {
        log_refusal(worker, task, false, why->message);
        drop_refused(worker, task);
        st = PAWL_OK;
    } else {
        put_back(&worker->claim_loop.results, task, st == PAWL_E_IN_DOUBT);
    }
    return st;
}

/* Truncates the list after this many tasks; returns the rest. */
static pawl_task *cut_after(pawl_task *list, size_t count)
{
    while (--count > 0 && list->next_in_line)
        list = list->next_in_line;
    pawl_task *rest = list->next_in_line;
    list->next_in_line = NULL;
    return rest;
}

/*
 * Stores equal results together. If the store rejects a batch because of the content of one
 * result, the batch is split until that result is found; the others are stored.
 */
static pawl_status store_list(pawl_worker *worker, pawl_task *list, const pawl_receipt *items,
                              size_t count, pawl_error *err)
{
    bool *changed = worker->claim_loop.results.changed;
    size_t half = count / 2;
    pawl_error why = PAWL_ERROR_INIT;
    pawl_status st = results_tell(worker, list, items, count, changed, &why);

    if (st == PAWL_OK) {
        results_stored(worker, list, changed, count);
        return PAWL_OK;
    }
    if (!pawli_store_error_is_refusal(st)) {
        put_back(&worker->claim_loop.results, list, st == PAWL_E_IN_DOUBT);
        if (err)
            *err = why;
        return st;
    }
    if (count == 1)
        return tell_refused(worker, list, &why, err);
    pawl_task *rest = cut_after(list, half);
    st = store_list(worker, list, items, half, err);
    if (st == PAWL_OK)
        return rest ? store_list(worker, rest, items + half, count - half, err) : PAWL_OK;
    put_back(&worker->claim_loop.results, rest, false);
    return st;
}

static pawl_status tell_like(pawl_worker *worker, const pawl_task *sample, pawl_error *err)
{
    pawli_result_batch *results = &worker->claim_loop.results;
    size_t count;
    pawl_task *picked = results_pick(results, sample, &count);

    return store_list(worker, picked, results->items, count, err);
}

/* Whether it can be batched with other acknowledgements, and sent with a claim. */
static bool result_is_ack(const pawl_task *task)
{
    return !task->dead && pawli_task_result(task) == PAWL_DONE && !task->output.data;
}

static pawl_task *first_that_is(pawli_result_batch *results, bool ack)
{
    pawl_task *task = results->list;

    while (task && result_is_ack(task) != ack)
        task = task->next_in_line;
    return task;
}

static pawl_status store_all(pawl_worker *worker, bool acks, pawl_error *err)
{
    pawli_result_batch *results = &worker->claim_loop.results;
    pawl_status st = results_make_room(results, err);
    pawl_task *task;

    while (st == PAWL_OK && (task = first_that_is(results, acks)) != NULL)
        st = tell_like(worker, task, err);
    return st;
}

pawl_status pawli_result_batch_store_others(pawl_worker *worker, pawl_error *err)
{
    return store_all(worker, false, err);
}

pawl_status pawli_result_batch_store(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = store_all(worker, false, err);

    return st == PAWL_OK ? store_all(worker, true, err) : st;
}

pawl_status pawli_result_batch_store_acks(pawl_worker *worker, pawl_error *err)
{
    return store_all(worker, true, err);
}

/* ---- acknowledgements that are sent with a claim ---- */

pawl_status pawli_result_batch_acks(pawl_worker *worker, const pawl_receipt **ret_items,
                                    bool **ret_acked, size_t *ret_count, pawl_error *err)
{
    pawli_result_batch *results = &worker->claim_loop.results;
    static const pawl_receipt none;
    size_t count = 0;
    pawl_status st = results_make_room(results, err);

    if (st != PAWL_OK)
        return st;
    for (pawl_task *task = results->list; task && count < PAWL_BATCH_MAX; task = task->next_in_line)
        if (result_is_ack(task))
            results->items[count++] = task->receipt;
    *ret_items = count > 0 ? results->items : &none;
    *ret_acked = results->changed;
    *ret_count = count;
    return PAWL_OK;
}

void pawli_result_batch_acked(pawl_worker *worker, pawl_status st, size_t count)
{
    pawli_result_batch *results = &worker->claim_loop.results;
    pawl_task *sample = first_that_is(results, true);

    if (!sample || count == 0)
        return;
    pawl_task *picked = results_pick(results, sample, &count);
    if (st == PAWL_OK)
        results_stored(worker, picked, results->changed, count);
    else
        put_back(results, picked, st == PAWL_E_IN_DOUBT);
}
