/* src/worker/answers.c - what handlers answered, on its way to the store. */
#include "answers.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "job_private.h"
#include "log.h"
#include "observe.h"
#include "worker_private.h"

void pawli_answers_done(pawli_answers *answers)
{
    free(answers->items);
    *answers = (pawli_answers){0};
}

bool pawli_answers_empty(const pawli_answers *answers)
{
    return !answers->list;
}

static pawl_status make_room(pawli_answers *answers, pawl_error *err)
{
    size_t count = 0;

    for (pawl_task *task = answers->list; task; task = task->line)
        count++;
    if (count <= answers->room)
        return PAWL_OK;
    pawl_held *items = realloc(answers->items, count * sizeof *items);
    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu answers", count);
    answers->items = items;
    answers->room = count;
    return PAWL_OK;
}

/* ---- results that are not told ---- */

static void drop(pawl_worker *worker, pawl_task *task)
{
    char id[PAWL_UUID_TEXT_SIZE];

    pawli_observe_dropped(worker, task);
    if (pawli_task_acknowledged(task)) {
        pawli_worker_count(worker, &worker->stats.done, 1);
    } else if (!task->disowned) { /* those were counted when they were given back */
        pawl_message_id_format(pawl_message_get_id(task->message), id);
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                  "the result of message %s of topic '%.255s' was dropped: its lease was lost, or "
                  "it was cancelled",
                  id, pawl_message_topic(task->message));
        pawli_worker_count(worker, &worker->stats.lost, 1);
    }
    pawli_hand_settle(&worker->hand, task);
}

void pawli_answers_gather(pawl_worker *worker)
{
    pawl_task **at = &worker->intake.answers.list;

    pawli_hand_retell(&worker->hand, *at);
    while (*at)
        at = &(*at)->line;
    *at = pawli_hand_collect(&worker->hand);
    at = &worker->intake.answers.list;
    while (*at) {
        pawl_task *task = *at;
        if (pawli_task_answer(task) == PAWLI_ANSWER_NONE) {
            *at = task->line;
            task->line = NULL;
            drop(worker, task);
        } else {
            at = &task->line;
        }
    }
}

void pawli_answers_put_off(pawl_worker *worker)
{
    if (worker->intake.answers.list)
        pawli_hand_retain(&worker->hand, worker->intake.answers.list);
}

/* ---- telling ---- */

static int64_t *counter_of(pawl_worker *worker, const pawl_task *task)
{
    pawli_answer answer = pawli_task_answer(task);

    if (task->dead)
        return answer == PAWLI_ANSWER_ACK ? &worker->stats.dead : NULL;
    switch (answer) {
    case PAWLI_ANSWER_ACK:
        return &worker->stats.done;
    case PAWLI_ANSWER_ABANDON:
        return &worker->stats.retried;
    case PAWLI_ANSWER_FAIL:
        return &worker->stats.failed;
    default:
        return &worker->stats.released;
    }
}

static bool same(const pawl_task *a, const pawl_task *b)
{
    pawli_answer answer = pawli_task_answer(a);

    if (a->dead != b->dead || answer != pawli_task_answer(b))
        return false;
    if (answer == PAWLI_ANSWER_ACK) /* what somebody leaves goes by itself */
        return !a->output.data && !b->output.data;
    if (answer == PAWLI_ANSWER_RELEASE)
        return true;
    if (answer == PAWLI_ANSWER_ABANDON && a->delay_ms != b->delay_ms)
        return false;
    return strcmp(a->error ? a->error : "", b->error ? b->error : "") == 0;
}

/* Those like `sample` are moved to the returned list, as many as fit into one call. */
static pawl_task *pick(pawli_answers *answers, const pawl_task *sample, size_t *ret_count)
{
    pawl_task *picked = NULL, **end = &picked;
    pawl_task **at = &answers->list;

    *ret_count = 0;
    while (*at && *ret_count < PAWL_BATCH_MAX) {
        pawl_task *task = *at;
        if (task != sample && !same(task, sample)) {
            at = &task->line;
            continue;
        }
        *at = task->line;
        task->line = NULL;
        *end = task;
        end = &task->line;
        answers->items[(*ret_count)++] = task->held;
    }
    return picked;
}

static void put_back(pawli_answers *answers, pawl_task *picked, bool doubt)
{
    pawl_task **at = &answers->list;

    for (pawl_task *task = picked; task; task = task->line)
        task->doubt |= doubt;
    while (*at)
        at = &(*at)->line;
    *at = picked;
}

/* Those that did not change, although nothing can have changed them before us, were lost. */
static void settle(pawl_worker *worker, pawl_task *picked, size_t count, size_t changed)
{
    int64_t *counter = counter_of(worker, picked);
    size_t unsure = 0;
    bool run = false;

    for (pawl_task *task = picked; task; task = task->line) {
        unsure += task->doubt || pawli_task_acknowledged(task);
        run |= pawl_message_run_id(task->message) != 0;
    }
    if (run) /* another one of its job may be in line */
        pawli_jobs_changed(worker->store);
    size_t unchanged = count > changed ? count - changed : 0;
    size_t lost = unchanged > unsure ? unchanged - unsure : 0;
    if (counter)
        pawli_worker_count(worker, counter, count - lost);
    pawli_observe_told(worker, picked, count, lost);
    pawli_hand_settle(&worker->hand, picked);
    if (lost == 0)
        return;
    pawli_worker_count(worker, &worker->stats.lost, lost);
    pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
              "%zu of %zu results came too late: the messages were no longer this worker's", lost,
              count);
}

/* ---- results that the store refuses ---- */

/* What the handler said is left out, and the result told without it. */
static void strip(pawl_task *task)
{
    pawli_output_done(&task->output);
    free(task->error);
    task->error = NULL;
}

/* Said once for each message, whether it is only the words that are lost or the whole result. */
static void log_refusal(pawl_worker *worker, const pawl_task *task, bool stored, const char *why)
{
    char id[PAWL_UUID_TEXT_SIZE];

    pawl_message_id_format(pawl_message_get_id(task->message), id);
    if (stored)
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                  "topic '%.255s': the error text or output of message %s was refused by the "
                  "database and is not kept: %s",
                  pawl_message_topic(task->message), id, why);
    else
        pawli_log(&worker->log, PAWL_LOG_ERROR, "worker",
                  "topic '%.255s': the result of message %s was refused by the database; the "
                  "message is attempted again when its lease ends: %s",
                  pawl_message_topic(task->message), id, why);
}

/* Not stored, and not to be told again: its lease is no longer renewed, and ends. */
static void drop_refused(pawl_worker *worker, pawl_task *task)
{
    pawli_observe_dropped(worker, task);
    pawli_worker_count(worker, &worker->stats.lost, 1);
    pawli_hand_settle(&worker->hand, task);
}

static pawl_status tell_output(pawl_worker *worker, const pawl_task *task, size_t *ret_changed,
                               pawl_error *err)
{
    pawl_status st = pawl_queue_ack_output(worker->store, worker->owner, task->held,
                                           task->output.data, task->output.size, err);

    *ret_changed = st == PAWL_OK;
    return st == PAWL_E_LOST ? PAWL_OK : st;
}

static pawl_status tell(pawl_worker *worker, const pawl_task *sample, const pawl_held *items,
                        size_t count, size_t *ret_changed, pawl_error *err)
{
    if (sample->dead)
        return pawli_dead_tell(worker, sample, items, count, ret_changed, err);
    switch (pawli_task_answer(sample)) {
    case PAWLI_ANSWER_ACK:
        if (sample->output.data)
            return tell_output(worker, sample, ret_changed, err);
        return pawl_queue_ack(worker->store, worker->owner, items, count, ret_changed, err);
    case PAWLI_ANSWER_ABANDON:
        return pawl_queue_abandon(worker->store, worker->owner, items, count, sample->error,
                                  sample->delay_ms, ret_changed, err);
    case PAWLI_ANSWER_FAIL:
        return pawl_queue_fail(worker->store, worker->owner, items, count, sample->error,
                               ret_changed, err);
    default:
        return pawl_queue_release(worker->store, worker->owner, items, count, ret_changed, err);
    }
}

/* The store has refused this one result, for the reason `why`: it gets one more chance, without
 * what the handler said. */
static pawl_status tell_refused(pawl_worker *worker, pawl_task *task, const pawl_error *why,
                                pawl_error *err)
{
    bool had_words = task->error || task->output.data;
    size_t changed = 0;

    strip(task);
    pawl_status st = tell(worker, task, &task->held, 1, &changed, err);
    if (st == PAWL_OK) {
        if (had_words)
            log_refusal(worker, task, true, why->message);
        settle(worker, task, 1, changed);
    } else if (pawli_store_error_is_refusal(st)) {
        log_refusal(worker, task, false, why->message);
        drop_refused(worker, task);
        st = PAWL_OK;
    } else {
        put_back(&worker->intake.answers, task, st == PAWL_E_IN_DOUBT);
    }
    return st;
}

/* The list ends after this many tasks; returns the others. */
static pawl_task *cut_after(pawl_task *list, size_t count)
{
    while (--count > 0 && list->line)
        list = list->line;
    pawl_task *rest = list->line;
    list->line = NULL;
    return rest;
}

/*
 * Tell equal results together. If the store refuses them, for what one of them brings, they are
 * divided until that one is found; the others are told.
 */
static pawl_status tell_list(pawl_worker *worker, pawl_task *list, const pawl_held *items,
                             size_t count, pawl_error *err)
{
    size_t changed = 0, half = count / 2;
    pawl_error why = PAWL_ERROR_INIT;
    pawl_status st = tell(worker, list, items, count, &changed, &why);

    if (st == PAWL_OK) {
        settle(worker, list, count, changed);
        return PAWL_OK;
    }
    if (!pawli_store_error_is_refusal(st)) {
        put_back(&worker->intake.answers, list, st == PAWL_E_IN_DOUBT);
        if (err)
            *err = why;
        return st;
    }
    if (count == 1)
        return tell_refused(worker, list, &why, err);
    pawl_task *rest = cut_after(list, half);
    st = tell_list(worker, list, items, half, err);
    if (st == PAWL_OK)
        return rest ? tell_list(worker, rest, items + half, count - half, err) : PAWL_OK;
    put_back(&worker->intake.answers, rest, false);
    return st;
}

static pawl_status tell_like(pawl_worker *worker, const pawl_task *sample, pawl_error *err)
{
    pawli_answers *answers = &worker->intake.answers;
    size_t count;
    pawl_task *picked = pick(answers, sample, &count);

    return tell_list(worker, picked, answers->items, count, err);
}

/* One that may go with others of its kind, and with a claim. */
static bool is_ack(const pawl_task *task)
{
    return !task->dead && pawli_task_answer(task) == PAWLI_ANSWER_ACK && !task->output.data;
}

static pawl_task *first_that_is(pawli_answers *answers, bool ack)
{
    pawl_task *task = answers->list;

    while (task && is_ack(task) != ack)
        task = task->line;
    return task;
}

static pawl_status tell_all(pawl_worker *worker, bool acks, pawl_error *err)
{
    pawli_answers *answers = &worker->intake.answers;
    pawl_status st = make_room(answers, err);
    pawl_task *task;

    while (st == PAWL_OK && (task = first_that_is(answers, acks)) != NULL)
        st = tell_like(worker, task, err);
    return st;
}

pawl_status pawli_answers_tell_others(pawl_worker *worker, pawl_error *err)
{
    return tell_all(worker, false, err);
}

pawl_status pawli_answers_tell(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = tell_all(worker, false, err);

    return st == PAWL_OK ? tell_all(worker, true, err) : st;
}

pawl_status pawli_answers_tell_acks(pawl_worker *worker, pawl_error *err)
{
    return tell_all(worker, true, err);
}

/* ---- acknowledgements that go with a claim ---- */

pawl_status pawli_answers_acks(pawl_worker *worker, const pawl_held **ret_items, size_t *ret_count,
                               pawl_error *err)
{
    pawli_answers *answers = &worker->intake.answers;
    static const pawl_held none;
    size_t count = 0;
    pawl_status st = make_room(answers, err);

    if (st != PAWL_OK)
        return st;
    for (pawl_task *task = answers->list; task && count < PAWL_BATCH_MAX; task = task->line)
        if (is_ack(task))
            answers->items[count++] = task->held;
    *ret_items = count > 0 ? answers->items : &none;
    *ret_count = count;
    return PAWL_OK;
}

void pawli_answers_acked(pawl_worker *worker, pawl_status st, size_t count, size_t acked)
{
    pawli_answers *answers = &worker->intake.answers;
    pawl_task *sample = first_that_is(answers, true);

    if (!sample || count == 0)
        return;
    pawl_task *picked = pick(answers, sample, &count);
    if (st == PAWL_OK)
        settle(worker, picked, count, acked);
    else
        put_back(answers, picked, st == PAWL_E_IN_DOUBT);
}
