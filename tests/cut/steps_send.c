/* tests/cut/steps_send.c - the steps that send, alone and in the application's transaction. */
#include <libpq-fe.h>

#include "steps.h"

pawl_status step_open(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_store_options opts = *fixture_store_options(w->f);

    (void)ret_changed;
    opts.prepare = w->prepare;
    opts.timeout_ms = w->timeout_ms;
    return pawl_store_open(w->target, &opts, &w->store, err);
}

static size_t stored(const pawl_enqueued *answers, size_t count)
{
    size_t changed = 0;

    for (size_t i = 0; i < count; i++)
        changed += !answers[i].existed;
    return changed;
}

static pawl_status send(world *w, const pawl_outgoing *messages, size_t count, size_t *ret_changed,
                        pawl_error *err)
{
    pawl_enqueued answers[8];
    pawl_status st = pawl_outbox_enqueue_batch(w->store, messages, count, answers, err);

    if (st == PAWL_OK)
        *ret_changed = stored(answers, count);
    return st;
}

pawl_status step_send(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_outgoing one = steps_message(1);

    return send(w, &one, 1, ret_changed, err);
}

pawl_status step_send_batch(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_outgoing batch[] = {steps_message(5), steps_message(3), steps_message(2), steps_message(4),
                             steps_message(6)};

    return send(w, batch, COUNT_OF(batch), ret_changed, err);
}

pawl_status step_send_again(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_outgoing both[] = {steps_message(4), steps_message(1)};

    return send(w, both, COUNT_OF(both), ret_changed, err);
}

pawl_status step_schedule(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_scheduler *scheduler = NULL;
    pawl_outgoing one = steps_message(9);
    pawl_enqueued answer;
    pawl_status st = pawl_scheduler_new_on_store(w->store, &scheduler, err);

    one.delay_ms = DAY_MS;
    if (st == PAWL_OK)
        st = pawl_timer_schedule(scheduler, &one, &answer, err);
    if (st == PAWL_OK)
        *ret_changed = stored(&answer, 1);
    pawl_scheduler_free(scheduler);
    return st;
}

pawl_status step_unschedule(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_scheduler *scheduler = NULL;
    pawl_message_id id = kit_id(9);
    pawl_status st = pawl_scheduler_new_on_store(w->store, &scheduler, err);

    if (st == PAWL_OK)
        st = pawl_timer_cancel(scheduler, &id, 1, ret_changed, err);
    pawl_scheduler_free(scheduler);
    return st;
}

static bool good(PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* As an application would: a connection that is found lost at the beginning is made again, once. */
static bool begin_empty(world *w)
{
    bool begun = false;

    for (int tries = 0; !begun && tries < 2; tries++) {
        if (w->client && (tries > 0 || PQstatus(w->client) != CONNECTION_OK)) {
            PQfinish(w->client);
            w->client = NULL;
        }
        if (!w->client)
            w->client = PQconnectdb(w->client_target);
        begun = good(PQexec(w->client, "BEGIN"));
    }
    return begun;
}

static bool begin(world *w, int order)
{
    return begin_empty(w) &&
           good(PQexec(w->client,
                       fixture_expand(w->f, test_note("INSERT INTO {orders} VALUES (%d)", order))));
}

static pawl_status not_done(pawl_error *err)
{
    *err = (pawl_error){.status = PAWL_E_UNAVAILABLE, .message = "the application's own statement"};
    return err->status;
}

pawl_status steps_begin(world *w, pawl_error *err)
{
    return begin_empty(w) ? PAWL_OK : not_done(err);
}

static pawl_status send_in_transaction(world *w, int number, pawl_error *err)
{
    pawl_outgoing one = steps_message(number);
    pawl_tx *tx = NULL;
    pawl_status st;

    if (!begin(w, number))
        return not_done(err);
    st = pawl_tx_wrap_postgres(w->store, w->client, &tx, err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(tx, &one, NULL, err);
    pawl_tx_free(tx);
    return st;
}

/* pawl cannot be in doubt here, since it does not commit; the application can. */
pawl_status step_send_wrapped(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = send_in_transaction(w, 7, err);

    if (st == PAWL_E_IN_DOUBT)
        test_fail("a send inside the application's transaction says that it is in doubt");
    if (st != PAWL_OK)
        return st;
    PGresult *result = PQexec(w->client, "COMMIT");
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        PQclear(result);
        *ret_changed = 2;
        return PAWL_OK;
    }
    PQclear(result);
    *err = (pawl_error){.status = PAWL_E_IN_DOUBT, .message = "the application's own COMMIT"};
    return err->status;
}

/* The application looks for its own row; message and row are there together or not at all. */
pawl_status step_resolve_wrapped(world *w, size_t *ret_changed, pawl_error *err)
{
    if (fixture_count(w->f, "SELECT count(*) FROM {orders}") > 0)
        return PAWL_OK;
    return step_send_wrapped(w, ret_changed, err);
}

pawl_status step_send_undone(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = send_in_transaction(w, 8, err);

    (void)ret_changed;
    if (st == PAWL_E_IN_DOUBT)
        test_fail("a send inside the application's transaction says that it is in doubt");
    if (st == PAWL_OK && !good(PQexec(w->client, "ROLLBACK")))
        return not_done(err);
    return st;
}
