/* src/db/group.c - group commit: writers of one process that wait for the same lock share a commit.
 */
#include "group.h"

#include <pthread.h>
#include <stdlib.h>

#include "cond.h"
#include "fail.h"
#include "world.h"

#define MOST_OPS 1000
#define MOST_WORK_US 5000

/* One caller's op. It lives on the caller's stack: the caller waits until it is done. */
typedef struct request {
    const pawli_op *op;
    uint64_t turn;
    pawl_mono deadline;
    pthread_cond_t moved; /* done, or made leader, or an interrupt */
    bool taken;           /* a leader is at it: too late to give up */
    bool done;
    bool leads;
    pawl_status status;
    pawl_error err;
    struct request *next;
} request;

typedef struct request_list {
    request *first;
    request *last;
    size_t count;
} request_list;

struct pawli_group {
    pawli_pool *writers;
    pthread_mutex_t lock; /* guards what follows, and done/leads/next of waiting requests */
    bool led;             /* somebody leads or has been chosen to */
    request_list waiting;
};

pawl_status pawli_group_new(pawli_pool *writers, pawli_group **ret_group, pawl_error *err)
{
    pawli_group *group = calloc(1, sizeof *group);

    if (!group)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the store");
    group->writers = writers;
    pthread_mutex_init(&group->lock, NULL);
    *ret_group = group;
    return PAWL_OK;
}

void pawli_group_free(pawli_group *group)
{
    if (!group)
        return;
    pthread_mutex_destroy(&group->lock);
    free(group);
}

static void append(request_list *list, request *item)
{
    item->next = NULL;
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
    list->count++;
}

static request *pop(request_list *list)
{
    request *item = list->first;

    if (!item)
        return NULL;
    list->first = item->next;
    if (!list->first)
        list->last = NULL;
    list->count--;
    return item;
}

static void remove_from(request_list *list, request *item)
{
    request *before = NULL;

    for (request *at = list->first; at != item; at = at->next)
        before = at;
    if (before)
        before->next = item->next;
    else
        list->first = item->next;
    if (list->last == item)
        list->last = before;
    list->count--;
}

static pawl_status waited_in_vain(request *item)
{
    return pawli_fail(&item->err, PAWL_E_BUSY,
                      "the database's write lock was held by others until the timeout; try again, "
                      "or end the transaction that was left open there");
}

/* ---- the leader's work; no lock held, the requests in `batch` are the leader's alone ---- */

static void carry_out(pawli_conn *conn, request *item)
{
    if (item->op->on_start)
        item->op->on_start(item->op->context);
    item->status = conn->driver->run(conn, item->op, item->deadline, &item->err);
}

/* As a transaction of its own. */
static void carry_out_alone(pawli_group *group, request *item)
{
    pawli_conn *conn = NULL;

    item->status =
        pawli_pool_acquire(group->writers, item->turn, item->deadline, &conn, &item->err);
    if (item->status != PAWL_OK)
        return;
    carry_out(conn, item);
    pawli_pool_give_back(group->writers, conn);
}

/* Take what waits, as far as there is room; the leader's own is first. */
static void gather(pawli_group *group, request_list *batch)
{
    pthread_mutex_lock(&group->lock);
    while (batch->count < MOST_OPS && group->waiting.first) {
        request *item = pop(&group->waiting);
        item->taken = true;
        append(batch, item);
    }
    pthread_mutex_unlock(&group->lock);
}

/* What comes after `last` did not fit into the time: back to the front of those that wait. */
static void put_back_after(pawli_group *group, request_list *batch, request *last)
{
    request_list kept = {0}, rest = {0};
    request *item;

    while ((item = pop(batch)) != last)
        append(&kept, item);
    append(&kept, last);
    pthread_mutex_lock(&group->lock);
    while ((item = pop(batch))) {
        item->taken = false;
        append(&rest, item);
    }
    while ((item = pop(&group->waiting)))
        append(&rest, item);
    group->waiting = rest;
    pthread_mutex_unlock(&group->lock);
    *batch = kept;
}

/*
 * Each op in a savepoint of its own, so that one that fails is undone alone. Answers the request
 * that made the engine give up the whole transaction, if one did: then nothing of the batch is in
 * the database.
 */
static request *run_batch(pawli_group *group, pawli_conn *conn, request_list *batch)
{
    pawl_mono start = pawli_mono_now();

    for (request *item = batch->first; item; item = item->next) {
        carry_out(conn, item);
        if (conn->lost)
            return item;
        if (item->next && pawli_mono_now().us - start.us > MOST_WORK_US)
            put_back_after(group, batch, item);
    }
    return NULL;
}

/* Those before the culprit that had succeeded were undone with it; those after never ran. */
static void run_again(pawli_group *group, request_list *batch, const request *culprit)
{
    bool passed = false;

    for (request *item = batch->first; item; item = item->next) {
        if (item == culprit)
            passed = true;
        else if (passed || item->status == PAWL_OK)
            carry_out_alone(group, item);
    }
}

/* The commit's answer is everyone's, except of those that had failed before it. */
static void share_answer(request_list *batch, pawl_status st, const pawl_error *err)
{
    for (request *item = batch->first; item; item = item->next) {
        if (item->status != PAWL_OK)
            continue;
        item->status = st;
        item->err = *err;
    }
}

static void commit(pawli_conn *conn, request_list *batch)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    if (conn->solo && batch->first->status != PAWL_OK) {
        conn->driver->rollback(conn);
        return;
    }
    if (atomic_load(&conn->stop)) {
        conn->driver->rollback(conn);
        st = pawli_fail(&err, PAWL_E_INTERRUPTED, "interrupted before the commit");
    } else {
        st = conn->driver->commit(conn, batch->first->deadline, &err);
    }
    if (st != PAWL_OK)
        share_answer(batch, st, &err);
}

static void run_group(pawli_group *group, request_list *batch)
{
    request *leader = batch->first;
    request *culprit;
    pawli_conn *conn = NULL;

    if (pawli_mono_passed(leader->deadline)) { /* the lead came too late */
        leader->status = waited_in_vain(leader);
        return;
    }
    leader->status =
        pawli_pool_acquire(group->writers, leader->turn, leader->deadline, &conn, &leader->err);
    if (leader->status != PAWL_OK)
        return;
    leader->status = conn->driver->begin(conn, leader->deadline, &leader->err);
    if (leader->status == PAWL_E_TIMEOUT) /* it passed just now, with nothing begun */
        leader->status = waited_in_vain(leader);
    if (leader->status != PAWL_OK) {
        pawli_pool_give_back(group->writers, conn);
        return;
    }
    /* Only now: whoever waits for the lock longer than its timeout can still give up. */
    gather(group, batch);
    conn->solo = batch->count == 1;
    culprit = run_batch(group, conn, batch);
    if (culprit)
        conn->driver->rollback(conn);
    else
        commit(conn, batch);
    conn->solo = false;
    pawli_pool_give_back(group->writers, conn);
    if (culprit)
        run_again(group, batch, culprit);
}

static void lead(pawli_group *group, request *leader)
{
    request_list batch = {0};
    request *item;

    append(&batch, leader);
    run_group(group, &batch);

    pthread_mutex_lock(&group->lock);
    while ((item = pop(&batch))) { /* a request is gone as soon as the lock is free */
        item->done = true;
        if (item != leader)
            pthread_cond_signal(&item->moved);
    }
    item = pop(&group->waiting);
    if (item) {
        item->leads = true;
        pthread_cond_signal(&item->moved);
    } else {
        group->led = false;
    }
    pthread_mutex_unlock(&group->lock);
}

/* ---- the callers ---- */

static bool give_up(pawli_group *group, request *item)
{
    if (item->taken)
        return false;
    if (pawli_pool_turn(group->writers) != item->turn)
        item->status = pawli_fail(&item->err, PAWL_E_INTERRUPTED,
                                  "interrupted while waiting for the write lock");
    else if (pawli_mono_passed(item->deadline))
        item->status = waited_in_vain(item);
    else
        return false;
    remove_from(&group->waiting, item);
    item->done = true;
    return true;
}

/* Called with the lock held, until the request is done or leads. */
static void wait_turn(pawli_group *group, request *item)
{
    while (!item->done && !item->leads && !give_up(group, item)) {
        if (item->taken)
            pthread_cond_wait(&item->moved, &group->lock);
        else
            pawli_cond_wait_until(&item->moved, &group->lock, item->deadline);
    }
}

pawl_status pawli_group_run(pawli_group *group, const pawli_op *op, uint64_t turn,
                            pawl_mono deadline, pawl_error *err)
{
    request item = {.op = op, .turn = turn, .deadline = deadline, .err = PAWL_ERROR_INIT};

    pawli_cond_init(&item.moved);
    pthread_mutex_lock(&group->lock);
    if (group->led) {
        append(&group->waiting, &item);
        wait_turn(group, &item);
    } else {
        group->led = true;
        item.leads = true;
    }
    pthread_mutex_unlock(&group->lock);
    if (item.leads)
        lead(group, &item);
    pthread_cond_destroy(&item.moved);
    if (item.status != PAWL_OK && err)
        *err = item.err;
    return item.status;
}

void pawli_group_interrupt(pawli_group *group)
{
    pthread_mutex_lock(&group->lock);
    for (request *item = group->waiting.first; item; item = item->next)
        pthread_cond_signal(&item->moved);
    pthread_mutex_unlock(&group->lock);
}

size_t pawli_group_waiting(pawli_group *group)
{
    pthread_mutex_lock(&group->lock);
    size_t count = group->waiting.count;
    pthread_mutex_unlock(&group->lock);
    return count;
}
