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

#define MAX_OPS 1000
#define MAX_MERGED_ROWS 1000 /* of ops that are merged into one */
#define MAX_BATCH_US 5000
#define CHECK_WRITER_US 100000 /* how often waiting threads check for a late exclusive writer */

/* One caller's op. It lives on the caller's stack: the caller waits until it is done. */
typedef struct request {
    const pawli_op *op; /* NULL: an exclusive writer, which needs the write lock for itself */
    uint64_t interrupts_seen;
    pawl_mono deadline;
    sem_t wakeup; /* posted when done, chosen as leader, or interrupted */
    atomic_bool done;
    atomic_bool is_leader;
    bool taken;        /* a leader is processing it: too late to give up */
    size_t interrupts; /* interrupts posted to it; none once it is taken */
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
    pthread_mutex_t lock; /* guards the rest, and taken/interrupts/next of waiting requests */
    bool has_leader;      /* there is a leader, or one has been chosen */
    request_list waiting;
    pawli_exclusive_writer
        *writer; /* has the write lock for itself; NULL: none, or being rolled back */
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

static pawl_status lock_timed_out(request *item)
{
    return pawli_fail(&item->err, PAWL_E_BUSY,
                      "timed out waiting for the database's write lock; try again, or end the "
                      "transaction that holds it");
}

/* ---- the leader's work: no lock is held, the requests in `batch` belong to the leader ---- */

static void run_request(pawli_conn *conn, request *item)
{
    pawli_op_start(item->op);
    item->status = conn->driver->run(conn, item->op, item->deadline, &item->err);
}

/* Runs the op in a transaction of its own. */
static void run_alone(pawli_group *group, request *item)
{
    pawli_conn *conn = NULL;

    item->status = pawli_pool_acquire(group->writers, item->interrupts_seen, item->deadline, &conn,
                                      &item->err);
    if (item->status != PAWL_OK)
        return;
    run_request(conn, item);
    pawli_pool_give_back(group->writers, conn);
}

/* Moves waiting requests to the batch, as many as fit. The leader's own request is first. */
static void group_gather(pawli_group *group, request_list *batch)
{
    pthread_mutex_lock(&group->lock);
    while (batch->count < MAX_OPS && group->waiting.first && group->waiting.first->op) {
        request *item = group_pop(&group->waiting);
        item->taken = true;
        group_append(batch, item);
    }
    pthread_mutex_unlock(&group->lock);
}

/* The requests after `last` did not fit into the time limit: puts them back to the front of the
 * queue. */
static void requeue_after(pawli_group *group, request_list *batch, request *last)
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

/* Returns the last request that can be merged with `first` and those in between. */
static request *last_mergeable(request *first)
{
    size_t rows = first->op->rows ? first->op->rows->row_count : 0;
    request *last = first;

    while (last->next && pawli_merge_fits(first->op, last->next->op)) {
        rows += last->next->op->rows->row_count;
        if (rows > MAX_MERGED_ROWS)
            break;
        last = last->next;
    }
    return last;
}

/* Returns false if the merged op failed. Nothing was changed then, and the failing op is unknown.
 */
static bool run_merged(pawli_conn *conn, request *first, request *last)
{
    const pawli_op *parts[MAX_OPS];
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
 * Runs each op in a savepoint of its own, so that a failed op is undone alone. Returns true if
 * the engine rolled back the whole transaction: then nothing of the batch is in the database.
 */
static bool run_batch(pawli_group *group, pawli_conn *conn, request_list *batch)
{
    pawl_mono start = pawli_mono_now();

    for (request *item = batch->first; item; item = item->next) {
        request *last = last_mergeable(item);

        if (last != item && run_merged(conn, item, last))
            item = last;
        else if (!conn->lost)
            run_request(conn, item);
        if (conn->lost)
            return true;
        if (item->next && pawli_mono_now().us - start.us > MAX_BATCH_US)
            requeue_after(group, batch, item);
    }
    return false;
}

/* Runs the successful ops again, which were rolled back with the transaction. Failed ops keep
 * their error. */
static void rerun_batch(pawli_group *group, request_list *batch)
{
    for (request *item = batch->first; item; item = item->next) {
        if (item->status == PAWL_OK)
            run_alone(group, item);
    }
}

/* The commit's status applies to every op except those that had failed before. */
static void share_commit_status(request_list *batch, pawl_status st, const pawl_error *err)
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
        share_commit_status(batch, st, &err);
}

static void run_group(pawli_group *group, request_list *batch)
{
    request *leader = batch->first;
    pawli_conn *conn = NULL;

    if (pawli_mono_passed(leader->deadline)) { /* chosen as leader too late */
        leader->status = lock_timed_out(leader);
        return;
    }
    leader->status = pawli_pool_acquire(group->writers, leader->interrupts_seen, leader->deadline,
                                        &conn, &leader->err);
    if (leader->status != PAWL_OK)
        return;
    leader->status = conn->driver->begin(conn, leader->deadline, &leader->err);
    if (leader->status == PAWL_E_TIMEOUT) /* it passed just now, and nothing has begun */
        leader->status = lock_timed_out(leader);
    if (leader->status != PAWL_OK) {
        pawli_pool_give_back(group->writers, conn);
        return;
    }
    /* Not earlier: until here, a waiting caller can still give up at its timeout. */
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
        rerun_batch(group, batch);
}

/* Chooses the next request as leader. The lock is held. */
static void choose_leader(pawli_group *group)
{
    request *next = group_pop(&group->waiting);

    group->has_leader = next != NULL;
    if (!next)
        return;
    atomic_store(&next->is_leader, true);
    sem_post(&next->wakeup); /* it takes the lock before it can return */
}

static void group_lead(pawli_group *group, request *leader)
{
    request_list batch = {0};
    request *item;

    group_append(&batch, leader);
    run_group(group, &batch);

    /* The other callers first: some of them call again at once, and then join the next group. */
    while ((item = group_pop(&batch))) {
        if (item == leader)
            continue;
        atomic_store(&item->done, true);
        sem_post(&item->wakeup); /* its memory may be gone from here on */
    }
    pthread_mutex_lock(&group->lock);
    choose_leader(group);
    pthread_mutex_unlock(&group->lock);
}

/* ---- the callers ---- */

/* Whether the caller gives up waiting. The lock is held. */
static bool give_up(pawli_group *group, request *item)
{
    if (item->taken || atomic_load(&item->is_leader))
        return false;
    if (pawli_pool_interrupts(group->writers) != item->interrupts_seen)
        item->status = pawli_fail(&item->err, PAWL_E_INTERRUPTED,
                                  "interrupted while waiting for the write lock");
    else if (pawli_mono_passed(item->deadline))
        item->status = lock_timed_out(item);
    else
        return false;
    remove_from(&group->waiting, item);
    return true;
}

static void choose_leader_urgent_first(pawli_group *group);

/* Rolls back an exclusive writer that has exceeded its time limit. */
static void evict_late_writer(pawli_group *group)
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
    choose_leader_urgent_first(group);
    pthread_mutex_unlock(&group->lock);
}

/* When to check again: at the deadline, or earlier to check the exclusive writer. */
static pawl_mono group_next_check(const request *item)
{
    pawl_mono check = pawli_mono_after(pawli_mono_now(), CHECK_WRITER_US);

    return check.us < item->deadline.us ? check : item->deadline;
}

/*
 * Waits until the request is done or becomes the leader, or the caller gives up. A caller that is
 * posted does not need the lock: 64 callers that wake at the same time would only contend for it.
 */
static void wait_write_lock(pawli_group *group, request *item)
{
    bool must_finish = false; /* taken or leading: a post will follow */
    size_t posts = 0;

    while (true) {
        bool woken = true;
        if (must_finish)
            pawli_sem_wait(&item->wakeup);
        else
            woken = pawli_sem_wait_until(&item->wakeup, group_next_check(item));
        posts += woken;
        if (woken && atomic_load(&item->is_leader))
            return;
        /* Posting is the leader's last access to the request. */
        if (woken && atomic_load(&item->done) && posts > item->interrupts)
            return;
        if (!woken)
            evict_late_writer(group);
        pthread_mutex_lock(&group->lock);
        bool gave_up = give_up(group, item);
        must_finish = item->taken || atomic_load(&item->is_leader);
        pthread_mutex_unlock(&group->lock);
        if (gave_up)
            return;
    }
}

pawl_status pawli_group_run(pawli_group *group, const pawli_op *op, uint64_t interrupts_seen,
                            pawl_mono deadline, pawl_error *err)
{
    request item = {
        .op = op, .interrupts_seen = interrupts_seen, .deadline = deadline, .err = PAWL_ERROR_INIT};

    sem_init(&item.wakeup, 0, 0);
    pthread_mutex_lock(&group->lock);
    bool waits = group->has_leader;
    if (waits)
        group_append(&group->waiting, &item);
    group->has_leader = true;
    pthread_mutex_unlock(&group->lock);
    if (waits)
        wait_write_lock(group, &item);
    if (!waits || atomic_load(&item.is_leader))
        group_lead(group, &item);
    sem_destroy(&item.wakeup);
    if (item.status != PAWL_OK && err)
        *err = item.err;
    return item.status;
}

/* ---- exclusive writers ---- */

/* Urgent requests first, all others in order of arrival. The lock is held. */
static void choose_leader_urgent_first(pawli_group *group)
{
    request_list urgent = {0}, rest = {0};
    request *item;

    while ((item = group_pop(&group->waiting)))
        group_append(item->op && item->op->urgent ? &urgent : &rest, item);
    while ((item = group_pop(&rest)))
        group_append(&urgent, item);
    group->waiting = urgent;
    choose_leader(group);
}

pawl_status pawli_group_enter(pawli_group *group, uint64_t interrupts_seen, pawl_mono deadline,
                              pawl_error *err)
{
    request item = {
        .interrupts_seen = interrupts_seen, .deadline = deadline, .err = PAWL_ERROR_INIT};

    sem_init(&item.wakeup, 0, 0);
    pthread_mutex_lock(&group->lock);
    bool waits = group->has_leader;
    if (waits)
        group_append(&group->waiting, &item);
    group->has_leader = true;
    pthread_mutex_unlock(&group->lock);
    if (waits)
        wait_write_lock(group, &item);
    sem_destroy(&item.wakeup);
    if (waits && atomic_load(&item.is_leader) && pawli_mono_passed(deadline)) {
        item.status = lock_timed_out(&item);
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
        choose_leader_urgent_first(group);
    }
    pthread_mutex_unlock(&group->lock);
}

void pawli_group_interrupt(pawli_group *group)
{
    pthread_mutex_lock(&group->lock);
    for (request *item = group->waiting.first; item; item = item->next) {
        item->interrupts++;
        sem_post(&item->wakeup);
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
