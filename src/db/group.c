/* src/db/group.c - group commit: writers of one process that wait for the same lock share a commit.
 */
#include "group.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cond.h"
#include "fail.h"
#include "merge.h"
#include "platform.h"

#define MOST_OPS 1000
#define MOST_ROWS 1000 /* of ops that run as one */
#define MOST_WORK_US 5000
#define WATCH_US 100000 /* how often those that wait look whether a tenant is late */

/* One caller's op. It lives on the caller's stack: the caller waits until it is done. */
typedef struct request {
    const pawli_op *op; /* NULL: a tenant, who needs the turn for itself */
    uint64_t interrupts_seen;
    pawl_mono deadline;
    sem_t moved; /* done, or made leader, or a nudge */
    atomic_bool done;
    atomic_bool leads;
    bool taken;    /* a leader is at it: too late to give up */
    size_t nudges; /* to look whether to go on waiting; none once it is taken */
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
    pthread_mutex_t lock; /* guards what follows, and taken/nudges/next of waiting requests */
    bool led;             /* somebody leads or has been chosen to */
    request_list waiting;
    pawli_exclusive_writer
        *writer; /* who has the turn for itself; NULL: nobody, or being evicted */
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

static void group_append(request_list *list, request *item)
{
    item->next = NULL;
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
    list->count++;
}

static request *group_pop(request_list *list)
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

    item->status = pawli_pool_acquire(group->writers, item->interrupts_seen, item->deadline, &conn,
                                      &item->err);
    if (item->status != PAWL_OK)
        return;
    carry_out(conn, item);
    pawli_pool_give_back(group->writers, conn);
}

/* Take what waits, as far as there is room; the leader's own is first. */
static void group_gather(pawli_group *group, request_list *batch)
{
    pthread_mutex_lock(&group->lock);
    while (batch->count < MOST_OPS && group->waiting.first && group->waiting.first->op) {
        request *item = group_pop(&group->waiting);
        item->taken = true;
        group_append(batch, item);
    }
    pthread_mutex_unlock(&group->lock);
}

/* What comes after `last` did not fit into the time: back to the front of those that wait. */
static void put_back_after(pawli_group *group, request_list *batch, request *last)
{
    request_list kept = {0}, rest = {0};
    request *item;

    while ((item = group_pop(batch)) != last)
        group_append(&kept, item);
    group_append(&kept, last);
    pthread_mutex_lock(&group->lock);
    while ((item = group_pop(batch))) {
        item->taken = false;
        group_append(&rest, item);
    }
    while ((item = group_pop(&group->waiting)))
        group_append(&rest, item);
    group->waiting = rest;
    pthread_mutex_unlock(&group->lock);
    *batch = kept;
}

/* The last of those from `first` on that can run as one op with it. */
static request *last_alike(request *first)
{
    size_t rows = first->op->rows ? first->op->rows->row_count : 0;
    request *last = first;

    while (last->next && pawli_merge_fits(first->op, last->next->op)) {
        rows += last->next->op->rows->row_count;
        if (rows > MOST_ROWS)
            break;
        last = last->next;
    }
    return last;
}

/* False: it did not work, nothing of it was done, and nobody knows whose fault it is. */
static bool carry_out_together(pawli_conn *conn, request *first, request *last)
{
    const pawli_op *parts[MOST_OPS];
    pawl_error err = PAWL_ERROR_INIT;
    pawli_merge merge;
    size_t count = 0;

    for (request *item = first; item != last->next; item = item->next)
        parts[count++] = item->op;
    if (!pawli_merge_make(&merge, parts, count))
        return false;
    merge.op.on_start(merge.op.context);
    pawl_status st = conn->driver->run(conn, &merge.op, first->deadline, &err);
    pawli_merge_done(&merge);
    return st == PAWL_OK;
}

/*
 * Each op in a savepoint of its own, so that one that fails is undone alone. True if the engine
 * gave up the whole transaction: then nothing of the batch is in the database.
 */
static bool run_batch(pawli_group *group, pawli_conn *conn, request_list *batch)
{
    pawl_mono start = pawli_mono_now();

    for (request *item = batch->first; item; item = item->next) {
        request *last = last_alike(item);

        if (last != item && carry_out_together(conn, item, last))
            item = last;
        else if (!conn->lost)
            carry_out(conn, item);
        if (conn->lost)
            return true;
        if (item->next && pawli_mono_now().us - start.us > MOST_WORK_US)
            put_back_after(group, batch, item);
    }
    return false;
}

/* What succeeded was undone with the rest; what had failed for itself has its answer. */
static void run_again(pawli_group *group, request_list *batch)
{
    for (request *item = batch->first; item; item = item->next) {
        if (item->status == PAWL_OK)
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

static void group_commit(pawli_conn *conn, request_list *batch)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    if (conn->single_op && batch->first->status != PAWL_OK) {
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

static void group_run_group(pawli_group *group, request_list *batch)
{
    request *leader = batch->first;
    pawli_conn *conn = NULL;

    if (pawli_mono_passed(leader->deadline)) { /* the lead came too late */
        leader->status = waited_in_vain(leader);
        return;
    }
    leader->status = pawli_pool_acquire(group->writers, leader->interrupts_seen, leader->deadline,
                                        &conn, &leader->err);
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
    group_gather(group, batch);
    conn->single_op = batch->count == 1;
    bool lost = run_batch(group, conn, batch);
    if (lost)
        conn->driver->rollback(conn);
    else
        group_commit(conn, batch);
    conn->single_op = false;
    pawli_pool_give_back(group->writers, conn);
    if (lost)
        run_again(group, batch);
}

/* The next in the list leads from now on; the lock is held. */
static void hand_on(pawli_group *group)
{
    request *next = group_pop(&group->waiting);

    group->led = next != NULL;
    if (!next)
        return;
    atomic_store(&next->leads, true);
    sem_post(&next->moved); /* it needs the lock before it can be gone */
}

static void group_lead(pawli_group *group, request *leader)
{
    request_list batch = {0};
    request *item;

    group_append(&batch, leader);
    group_run_group(group, &batch);

    /* The others first: some come back at once, and are in the next group then. */
    while ((item = group_pop(&batch))) {
        if (item == leader)
            continue;
        atomic_store(&item->done, true);
        sem_post(&item->moved); /* and it is gone */
    }
    pthread_mutex_lock(&group->lock);
    hand_on(group);
    pthread_mutex_unlock(&group->lock);
}

/* ---- the callers ---- */

/* Whether the caller leaves instead of waiting on; the lock is held. */
static bool give_up(pawli_group *group, request *item)
{
    if (item->taken || atomic_load(&item->leads))
        return false;
    if (pawli_pool_turn(group->writers) != item->interrupts_seen)
        item->status = pawli_fail(&item->err, PAWL_E_INTERRUPTED,
                                  "interrupted while waiting for the write lock");
    else if (pawli_mono_passed(item->deadline))
        item->status = waited_in_vain(item);
    else
        return false;
    remove_from(&group->waiting, item);
    return true;
}

static void hand_on_urgent_first(pawli_group *group);

/* A tenant that has overstayed its time makes room. */
static void watch_exclusive_writer(pawli_group *group)
{
    pthread_mutex_lock(&group->lock);
    pawli_exclusive_writer *late = group->writer;
    if (!late || !late->may_roll_back || !pawli_mono_passed(late->until) ||
        !late->may_roll_back(late))
        late = NULL;
    if (late)
        group->writer = NULL;
    pthread_mutex_unlock(&group->lock);
    if (!late)
        return;
    late->roll_back_late(late);
    pthread_mutex_lock(&group->lock);
    hand_on_urgent_first(group);
    pthread_mutex_unlock(&group->lock);
}

/* When to look again: at the deadline, or sooner to see what the one in front does. */
static pawl_mono group_next_look(const request *item)
{
    pawl_mono look = pawli_mono_after(pawli_mono_now(), WATCH_US);

    return look.us < item->deadline.us ? look : item->deadline;
}

/*
 * Until the request is done or leads, or the caller gives up. Whoever is told needs no lock to go
 * on: 64 callers that wake at once would only queue for it.
 */
static void wait_write_lock(pawli_group *group, request *item)
{
    bool patient = false; /* somebody is at it, and will say so */
    size_t told = 0;

    while (true) {
        bool woken = true;
        if (patient)
            pawli_sem_wait(&item->moved);
        else
            woken = pawli_sem_wait_until(&item->moved, group_next_look(item));
        told += woken;
        if (woken && atomic_load(&item->leads))
            return;
        /* The leader lets go of the request with its last word, and not before. */
        if (woken && atomic_load(&item->done) && told > item->nudges)
            return;
        if (!woken)
            watch_exclusive_writer(group);
        pthread_mutex_lock(&group->lock);
        bool gone = give_up(group, item);
        patient = item->taken || atomic_load(&item->leads);
        pthread_mutex_unlock(&group->lock);
        if (gone)
            return;
    }
}

pawl_status pawli_group_run(pawli_group *group, const pawli_op *op, uint64_t interrupts_seen,
                            pawl_mono deadline, pawl_error *err)
{
    request item = {
        .op = op, .interrupts_seen = interrupts_seen, .deadline = deadline, .err = PAWL_ERROR_INIT};

    sem_init(&item.moved, 0, 0);
    pthread_mutex_lock(&group->lock);
    bool waits = group->led;
    if (waits)
        group_append(&group->waiting, &item);
    group->led = true;
    pthread_mutex_unlock(&group->lock);
    if (waits)
        wait_write_lock(group, &item);
    if (!waits || atomic_load(&item.leads))
        group_lead(group, &item);
    sem_destroy(&item.moved);
    if (item.status != PAWL_OK && err)
        *err = item.err;
    return item.status;
}

/* ---- tenants ---- */

/* What is urgent first, everything else in the order in which it came; the lock is held. */
static void hand_on_urgent_first(pawli_group *group)
{
    request_list urgent = {0}, rest = {0};
    request *item;

    while ((item = group_pop(&group->waiting)))
        group_append(item->op && item->op->urgent ? &urgent : &rest, item);
    while ((item = group_pop(&rest)))
        group_append(&urgent, item);
    group->waiting = urgent;
    hand_on(group);
}

pawl_status pawli_group_enter(pawli_group *group, uint64_t interrupts_seen, pawl_mono deadline,
                              pawl_error *err)
{
    request item = {
        .interrupts_seen = interrupts_seen, .deadline = deadline, .err = PAWL_ERROR_INIT};

    sem_init(&item.moved, 0, 0);
    pthread_mutex_lock(&group->lock);
    bool waits = group->led;
    if (waits)
        group_append(&group->waiting, &item);
    group->led = true;
    pthread_mutex_unlock(&group->lock);
    if (waits)
        wait_write_lock(group, &item);
    sem_destroy(&item.moved);
    if (waits && atomic_load(&item.leads) && pawli_mono_passed(deadline)) {
        item.status = waited_in_vain(&item);
        pawli_group_leave(group, NULL);
    }
    if (item.status != PAWL_OK && err)
        *err = item.err;
    return item.status;
}

void pawli_group_grant(pawli_group *group, pawli_exclusive_writer *writer)
{
    pthread_mutex_lock(&group->lock);
    group->writer = writer;
    pthread_mutex_unlock(&group->lock);
}

void pawli_group_leave(pawli_group *group, pawli_exclusive_writer *writer)
{
    pthread_mutex_lock(&group->lock);
    if (group->writer == writer) {
        group->writer = NULL;
        hand_on_urgent_first(group);
    }
    pthread_mutex_unlock(&group->lock);
}

void pawli_group_interrupt(pawli_group *group)
{
    pthread_mutex_lock(&group->lock);
    for (request *item = group->waiting.first; item; item = item->next) {
        item->nudges++;
        sem_post(&item->moved);
    }
    pthread_mutex_unlock(&group->lock);
}

size_t pawli_group_waiting(pawli_group *group)
{
    pthread_mutex_lock(&group->lock);
    size_t count = group->waiting.count;
    pthread_mutex_unlock(&group->lock);
    return count;
}
