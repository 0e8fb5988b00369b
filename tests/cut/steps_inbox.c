/* tests/cut/steps_inbox.c - the steps that receive: atomic, and around a call. */
#include "steps.h"

#define SOURCE "shop"

/* The effect of an atomic delivery: a message of its own. */
static pawl_status send_effect(pawl_tx *tx, pawl_error *err)
{
    pawl_outgoing effect = kit_message("life", "9");

    effect.correlation_id = "9";
    effect.delay_ms = 100 * DAY_MS;
    return pawl_tx_enqueue(tx, &effect, NULL, err);
}

/* Whoever was cut off may have left an attempt behind, whose lease has to end first. */
static void let_leases_end(world *w)
{
    fixture_advance(w->f, HOUR_MS);
}

pawl_status step_receive(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_arrival *arrival = NULL;
    pawl_status st;

    let_leases_end(w);
    st = pawl_inbox_begin(w->store, SOURCE, "atomic", NULL, NULL, &arrival, err);
    if (st == PAWL_OK && pawl_arrival_answer(arrival) == PAWL_INBOX_NEW) {
        st = send_effect(pawl_arrival_tx(arrival), err);
        if (st == PAWL_E_IN_DOUBT)
            test_fail("a send inside the transaction of a delivery says that it is in doubt");
        if (st == PAWL_OK)
            st = pawl_arrival_done(arrival, "r", 1, err);
        if (st == PAWL_OK)
            *ret_changed = 2;
    } else if (st == PAWL_OK && pawl_arrival_answer(arrival) != PAWL_INBOX_DUPLICATE) {
        test_fail("a delivery was answered with '%s'",
                  pawl_inbox_answer_name(pawl_arrival_answer(arrival)));
    }
    pawl_arrival_free(arrival);
    return st;
}

pawl_status step_call(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_status st;

    let_leases_end(w);
    pawl_arrival_free(w->call);
    w->call = NULL;
    st = pawl_inbox_call(w->store, SOURCE, "call", NULL, NULL, &w->call, err);
    if (st == PAWL_OK && pawl_arrival_answer(w->call) == PAWL_INBOX_NEW)
        *ret_changed = 1;
    return st;
}

/* When it is not known whether it was done, the message is delivered again, which tells. */
pawl_status step_call_done(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    size_t begun = 0;

    if (!w->call)
        st = step_call(w, &begun, err);
    if (st == PAWL_OK && pawl_arrival_answer(w->call) == PAWL_INBOX_NEW) {
        st = pawl_arrival_done(w->call, "r", 1, err);
        if (st == PAWL_OK)
            *ret_changed = 1;
    }
    pawl_arrival_free(w->call);
    w->call = NULL;
    return st;
}

pawl_status step_call_again(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_arrival *arrival = NULL;
    pawl_status st = pawl_inbox_call(w->store, SOURCE, "call", NULL, NULL, &arrival, err);
    size_t size = 0;

    (void)ret_changed;
    if (st == PAWL_OK && (pawl_arrival_answer(arrival) != PAWL_INBOX_DUPLICATE ||
                          !pawl_arrival_response(arrival, &size) || size != 1))
        test_fail("a duplicate got no cached response");
    pawl_arrival_free(arrival);
    return st;
}
