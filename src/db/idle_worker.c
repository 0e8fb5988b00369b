/* src/db/idle_worker.c - registration as an idle worker, so that senders notify it. See
 * wake-ups.md. */
#include "waiter_private.h"
#include "platform.h"

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

static bool idle_worker_older(pawl_mono since, int64_t us)
{
    return pawli_mono_now().us - since.us >= us;
}

static pawl_status run_idle(pawli_waiter *waiter, bool present, pawl_error *err)
{
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
        waiter->idle_worker.echo_awaited = true;
        waiter->idle_worker.echo_sent = pawli_mono_now();
    }
    return st;
}

static pawl_status read_snapshot_passed(void *context, const pawli_row *row, pawl_error *err)
{
    pawli_idle_worker *idle_worker = context;

    (void)err;
    idle_worker->epoch = pawli_row_int(row, 0);
    idle_worker->visible_to_all = pawli_row_int(row, 1) != 0;
    return PAWL_OK;
}

static pawl_status query_snapshot_passed(pawli_waiter *waiter, pawl_error *err)
{
    pawli_idle_worker *idle_worker = &waiter->idle_worker;
    pawli_param param = {"epoch", idle_worker->epoch ? pawli_int(idle_worker->epoch)
                                                     : pawli_null(PAWLI_INT)};
    pawli_op op = {
        .sql = PAWLI_SQL_SNAPSHOT_PASSED,
        .params = &param,
        .param_count = 1,
        .on_row = read_snapshot_passed,
        .context = idle_worker,
    };

    return pawli_db_run(waiter->db, &op, err);
}

/* Also if the row exists: senders may have considered it dead until now. */
static pawl_status register_idle(pawli_waiter *waiter, pawl_error *err)
{
    pawli_idle_worker *idle_worker = &waiter->idle_worker;
    pawl_status st = run_idle(waiter, true, err);

    if (st != PAWL_OK)
        return st;
    idle_worker->written = true;
    idle_worker->visible_to_all = false;
    idle_worker->epoch = 0; /* a new epoch is started only now */
    return query_snapshot_passed(waiter, err);
}

pawl_status pawli_idle_worker_arm(pawli_waiter *waiter, pawl_error *err)
{
    pawli_idle_worker *idle_worker = &waiter->idle_worker;
    bool was_there = waiter->listener != NULL;
    pawli_commit_events events;

    pawli_waiter_open_listener(waiter);
    if (!waiter->listener || !was_there)
        *idle_worker = (pawli_idle_worker){.erased = idle_worker->erased};
    /* Events read here were committed before the claim that follows. */
    pawli_waiter_read_events(waiter, &events);
    if (events.echo)
        pawli_idle_worker_echo(waiter);
    if (waiter->listener && idle_worker->echo_awaited &&
        idle_worker_older(idle_worker->echo_sent, ECHO_US))
        pawli_waiter_close_listener(waiter, idle_worker->proven ? LOST_PAUSE_US : NO_ECHO_PAUSE_US);
    if (!waiter->listener)
        return PAWL_OK;
    if (!idle_worker->proven)
        return idle_worker->echo_awaited ? PAWL_OK : run_idle(waiter, false, err);
    if (!idle_worker->written || idle_worker_older(idle_worker->echo_sent, RENEW_US))
        return register_idle(waiter, err);
    return idle_worker->visible_to_all ? PAWL_OK : query_snapshot_passed(waiter, err);
}

int64_t pawli_idle_worker_max_wait_us(const pawli_waiter *waiter)
{
    if (!waiter->listener || !waiter->idle_worker.written)
        return waiter->options.deaf_us;
    return waiter->idle_worker.visible_to_all ? waiter->options.max_wait_us
                                              : waiter->options.unsettled_us;
}

bool pawli_idle_worker_echo(pawli_waiter *waiter)
{
    waiter->idle_worker.echo_awaited = false;
    waiter->idle_worker.proven = true;
    return !waiter->idle_worker.written;
}

void pawli_idle_worker_unregister(pawli_waiter *waiter)
{
    pawli_param param = {"idle_worker", pawli_uuid(waiter->id)};
    pawli_op op = {.sql = PAWLI_SQL_BUSY, .writes = true, .params = &param, .param_count = 1};

    if (!waiter->idle_worker.written)
        return;
    /* If it fails, senders consider the row dead after a while. */
    (void)pawli_db_run(waiter->db, &op, NULL);
    waiter->idle_worker.written = false;
    waiter->idle_worker.erased = pawli_mono_now();
}

void pawli_idle_worker_busy(pawli_waiter *waiter)
{
    pawli_idle_worker *idle_worker = &waiter->idle_worker;
    int64_t linger_us = waiter->options.linger_us;

    if (waiter->armed)
        idle_worker->busy_since = pawli_mono_now();
    else if (idle_worker->written && idle_worker_older(idle_worker->busy_since, linger_us) &&
             idle_worker_older(idle_worker->erased, UNREGISTER_FACTOR * linger_us))
        pawli_idle_worker_unregister(waiter);
}
