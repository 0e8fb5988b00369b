/* src/db/postgres/idle_worker_postgres.c - waiting as a registered idle worker, which senders
 * notify. See wake-ups.md. */
#include <stdlib.h>

#include "conn_postgres.h"
#include "fail.h"
#include "platform.h"
#include "waiter_private.h"

#define SECOND_US INT64_C(1000000)
/* Senders ignore a row that was not renewed for 90 seconds. */
#define RENEW_US (20 * SECOND_US)
/* The worker's own notification takes milliseconds. After this time it is considered lost. */
#define ECHO_US (10 * SECOND_US)
/* The pause after a lost notification. The cause is usually a connection pooler, which stays. */
#define NO_ECHO_PAUSE_US (300 * SECOND_US)
#define LOST_PAUSE_US SECOND_US
/* A busy worker removes its row, but not at once and not often: a worker that is soon idle again
 * need not write it again, and the table does not fill with dead rows. */
#define UNREGISTER_FACTOR 50

/* The registration of a waiter. That it is visible to senders is waiter->notified. */
typedef struct idle_worker {
    bool proven;       /* our own notification has come back: those of others would, too */
    bool echo_awaited; /* one was sent and has not come back yet */
    pawl_mono echo_sent;
    int64_t epoch;       /* a transaction id assigned after it was visible; 0: none yet */
    bool visible_to_all; /* all transactions with a lower id have ended: all current senders see the
                          * registration */
    pawl_mono busy_since;
    pawl_mono erased;
} idle_worker;

static bool idle_worker_older(pawl_mono since, int64_t us)
{
    return pawli_mono_now().us - since.us >= us;
}

static pawl_status idle_worker_open(pawli_waiter *waiter, pawl_error *err)
{
    idle_worker *self = calloc(1, sizeof *self);

    if (!self)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a waiting worker");
    self->erased.us = INT64_MIN / 2;
    waiter->method_memory = self;
    return PAWL_OK;
}

/* ---- the row ---- */

static pawl_status run_idle(pawli_waiter *waiter, bool present, pawl_error *err)
{
    idle_worker *self = waiter->method_memory;
    pawli_param params[] = {
        {"idle_worker", pawli_uuid(waiter->id)},
        {"present", pawli_bool(present)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_IDLE,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
    };
    pawl_status st = pawli_db_run(waiter->db, &op, err);

    if (st == PAWL_OK) {
        self->echo_awaited = true;
        self->echo_sent = pawli_mono_now();
    }
    return st;
}

static pawl_status read_snapshot_passed(void *context, const pawli_row *row, pawl_error *err)
{
    idle_worker *self = context;

    (void)err;
    self->epoch = pawli_row_int(row, 0);
    self->visible_to_all = pawli_row_int(row, 1) != 0;
    return PAWL_OK;
}

static pawl_status query_snapshot_passed(pawli_waiter *waiter, pawl_error *err)
{
    idle_worker *self = waiter->method_memory;
    pawli_param param = {"epoch", self->epoch ? pawli_int(self->epoch) : pawli_null(PAWLI_INT)};
    pawli_op op = {
        .sql = PAWLI_SQL_SNAPSHOT_PASSED,
        .params = &param,
        .param_count = 1,
        .on_row = read_snapshot_passed,
        .context = self,
    };

    return pawli_db_run(waiter->db, &op, err);
}

/* Also if the row exists: senders may have considered it dead until now. */
static pawl_status idle_worker_register(pawli_waiter *waiter, pawl_error *err)
{
    idle_worker *self = waiter->method_memory;
    pawl_status st = run_idle(waiter, true, err);

    if (st != PAWL_OK)
        return st;
    waiter->notified = true;
    self->visible_to_all = false;
    self->epoch = 0; /* a new epoch is started only now */
    return query_snapshot_passed(waiter, err);
}

/* Removes the row, so that senders no longer notify. Best effort. */
static void idle_worker_unregister(pawli_waiter *waiter)
{
    idle_worker *self = waiter->method_memory;
    pawli_param param = {"idle_worker", pawli_uuid(waiter->id)};
    pawli_op op = {.sql = PAWLI_SQL_BUSY, .writes = true, .params = &param, .param_count = 1};

    if (!waiter->notified)
        return;
    /* If it fails, senders consider the row dead after a while. */
    (void)pawli_db_run(waiter->db, &op, NULL);
    waiter->notified = false;
    self->erased = pawli_mono_now();
}

static void idle_worker_close(pawli_waiter *waiter)
{
    idle_worker_unregister(waiter);
    free(waiter->method_memory);
}

/* ---- arming and waiting ---- */

/* Our own notification came back. Returns whether the maximum duration of the wait has just become
 * too long or too short: time to arm again. */
static bool idle_worker_echo(pawli_waiter *waiter)
{
    idle_worker *self = waiter->method_memory;

    self->echo_awaited = false;
    self->proven = true;
    return !waiter->notified;
}

/* Opens the listener; a new one has to prove itself first. */
static void idle_worker_listen(pawli_waiter *waiter)
{
    idle_worker *self = waiter->method_memory;
    bool was_there = waiter->listener != NULL;
    pawli_commit_events events;

    pawli_waiter_open_listener(waiter);
    if (!waiter->listener || !was_there) {
        *self = (idle_worker){.erased = self->erased};
        waiter->notified = false;
    }
    /* Events read here were committed before the claim that follows. */
    pawli_waiter_read_events(waiter, &events);
    if (events.echo)
        (void)idle_worker_echo(waiter);
    if (waiter->listener && self->echo_awaited && idle_worker_older(self->echo_sent, ECHO_US))
        pawli_waiter_close_listener(waiter, self->proven ? LOST_PAUSE_US : NO_ECHO_PAUSE_US);
}

static pawl_status idle_worker_arm(pawli_waiter *waiter, pawl_error *err)
{
    idle_worker *self = waiter->method_memory;

    idle_worker_listen(waiter);
    if (!waiter->listener)
        return PAWL_OK;
    if (!self->proven)
        return self->echo_awaited ? PAWL_OK : run_idle(waiter, false, err);
    if (!waiter->notified || idle_worker_older(self->echo_sent, RENEW_US))
        return idle_worker_register(waiter, err);
    return self->visible_to_all ? PAWL_OK : query_snapshot_passed(waiter, err);
}

static void idle_worker_disarm(pawli_waiter *waiter)
{
    idle_worker *self = waiter->method_memory;
    int64_t linger_us = waiter->options.linger_us;

    if (waiter->armed)
        self->busy_since = pawli_mono_now();
    else if (waiter->notified && idle_worker_older(self->busy_since, linger_us) &&
             idle_worker_older(self->erased, UNREGISTER_FACTOR * linger_us))
        idle_worker_unregister(waiter);
}

static int64_t max_wait_us(const pawli_waiter *waiter)
{
    const idle_worker *self = waiter->method_memory;

    if (!waiter->listener || !waiter->notified)
        return waiter->options.deaf_us;
    return self->visible_to_all ? waiter->options.max_wait_us : waiter->options.unsettled_us;
}

static void idle_worker_begin(const pawli_waiter *waiter, pawli_wait *wait)
{
    wait->max_until = pawli_mono_after(pawli_mono_now(), max_wait_us(waiter));
    wait->next_poll.us = INT64_MAX; /* never: a notification or max_until ends the wait */
}

static pawl_status idle_worker_check(pawli_waiter *waiter, pawli_wait *wait, pawli_woken *ret_why,
                                     bool *ret_woken, pawl_error *err)
{
    bool had_listener = waiter->listener != NULL;
    pawli_commit_events events;

    (void)wait, (void)err;
    pawli_waiter_read_events(waiter, &events);
    *ret_why = events.commit ? PAWLI_WOKEN_SENT : PAWLI_WOKEN_POLL;
    *ret_woken = events.commit || (had_listener && !waiter->listener) ||
                 (events.echo && idle_worker_echo(waiter));
    return PAWL_OK;
}

const pawli_wait_method pawli_postgres_wait_method = {
    .open = idle_worker_open,
    .close = idle_worker_close,
    .arm = idle_worker_arm,
    .disarm = idle_worker_disarm,
    .begin = idle_worker_begin,
    .check = idle_worker_check,
};
