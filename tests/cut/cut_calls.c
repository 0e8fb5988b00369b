/* tests/cut/cut_calls.c - the calls of the cut scenario that no other suite makes so. */
#include "cut_calls.h"

#include <libpq-fe.h>
#include <stdio.h>

/* ---- sending ---- */

pawl_status cut_send_one(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec one = scenario_message(1);

    return scenario_send(s, &one, 1, ret_changed, err);
}

pawl_status cut_send_again(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec both[] = {scenario_message(4), scenario_message(1)};

    return scenario_send(s, both, COUNT_OF(both), ret_changed, err);
}

pawl_status cut_schedule(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec one = scenario_message(9);
    pawl_enqueued answer;

    one.delay_ms = DAY_MS;
    pawl_status st = operation_schedule(s->store, &one, 1, &answer, err);
    if (st == PAWL_OK)
        *ret_changed = !answer.existed;
    return st;
}

pawl_status cut_unschedule(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_uuid id = queue_id(9);

    return operation_unschedule(s->store, &id, 1, ret_changed, err);
}

static bool is_good(PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* As an application would: a connection that is found lost at the beginning is made again, once. */
static bool begin_transaction(scenario *s)
{
    bool begun = false;

    for (int tries = 0; !begun && tries < 2; tries++) {
        if (s->client && (tries > 0 || PQstatus(s->client) != CONNECTION_OK)) {
            PQfinish(s->client);
            s->client = NULL;
        }
        if (!s->client)
            s->client = PQconnectdb(s->client_url);
        begun = is_good(PQexec(s->client, "BEGIN"));
    }
    return begun;
}

static bool begin_with_order(scenario *s, int order)
{
    return begin_transaction(s) &&
           is_good(
               PQexec(s->client,
                      fixture_expand(s->f, test_note("INSERT INTO {orders} VALUES (%d)", order))));
}

static pawl_status answer_not_done(pawl_error *err)
{
    *err = (pawl_error){.status = PAWL_E_UNAVAILABLE, .message = "the application's own statement"};
    return err->status;
}

static pawl_status send_in_transaction(scenario *s, int number, pawl_error *err)
{
    pawl_message_spec one = scenario_message(number);
    pawl_tx *tx = NULL;
    pawl_status st;

    if (!begin_with_order(s, number))
        return answer_not_done(err);
    st = pawl_tx_foreign_postgres(s->store, s->client, &tx, err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(tx, &one, NULL, err);
    pawl_tx_free(tx);
    return st;
}

/* pawl cannot be in doubt here, since it does not commit; the application can. */
pawl_status cut_send_wrapped(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = send_in_transaction(s, 7, err);

    if (st == PAWL_E_IN_DOUBT)
        test_fail("a send inside the application's transaction says that it is in doubt");
    if (st != PAWL_OK)
        return st;
    PGresult *result = PQexec(s->client, "COMMIT");
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        PQclear(result);
        *ret_changed = 2;
        return PAWL_OK;
    }
    PQclear(result);
    *err = (pawl_error){.status = PAWL_E_IN_DOUBT, .message = "the application's own COMMIT"};
    return err->status;
}

/* The application checks for its own row; message and row exist together or not at all. */
pawl_status cut_resolve_wrapped(scenario *s, size_t *ret_changed, pawl_error *err)
{
    if (fixture_count(s->f, "SELECT count(*) FROM {orders}") > 0)
        return PAWL_OK;
    return cut_send_wrapped(s, ret_changed, err);
}

pawl_status cut_send_undone(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = send_in_transaction(s, 8, err);

    (void)ret_changed;
    if (st == PAWL_E_IN_DOUBT)
        test_fail("a send inside the application's transaction says that it is in doubt");
    if (st == PAWL_OK && !is_good(PQexec(s->client, "ROLLBACK")))
        return answer_not_done(err);
    return st;
}

/* ---- claiming ---- */

/* After an unknown result it lists its own messages; only if there are none it claims again. */
pawl_status cut_resolve_claim_four(scenario *s, size_t *ret_changed, pawl_error *err)
{
    size_t owned = 0;
    pawl_status st = scenario_read_owned(s, &owned, err);

    return st == PAWL_OK && owned == 0 ? scenario_claim_four(s, ret_changed, err) : st;
}

pawl_status cut_resolve_claim_rest(scenario *s, size_t *ret_changed, pawl_error *err)
{
    size_t owned = 0;
    pawl_status st = scenario_read_owned(s, &owned, err);

    return st == PAWL_OK && owned == 0 ? scenario_claim_rest(s, ret_changed, err) : st;
}

/* Ends message 4, begins with 5. */
pawl_status cut_ack_and_claim(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_messages *list = NULL;
    size_t acked = 0;
    pawl_status st = pawl_queue_ack_and_claim(s->store, SCENARIO_OWNER, &s->owned[4], 1, MINUTE_MS,
                                              1, NULL, &acked, &list, err);

    if (st == PAWL_OK) {
        scenario_remember(s, list);
        *ret_changed = acked + pawl_messages_count(list);
    }
    pawl_messages_free(list);
    return st;
}

/* Both were done or neither: the messages still owned show which. */
pawl_status cut_resolve_ack_and_claim(scenario *s, size_t *ret_changed, pawl_error *err)
{
    size_t owned = 0;
    pawl_status st;

    s->owned[5] = (pawl_receipt){{0}, 0};
    st = scenario_read_owned(s, &owned, err);
    return st == PAWL_OK && s->owned[5].fence == 0 ? cut_ack_and_claim(s, ret_changed, err) : st;
}

/* ---- a lease ---- */

/* pawl cannot be in doubt here, nor may a cut be taken for a lost lease. */
pawl_status cut_lease_guard(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_tx *tx = NULL;
    pawl_status st = begin_transaction(s) ? PAWL_OK : answer_not_done(err);

    (void)ret_changed;
    if (st == PAWL_OK)
        st = pawl_tx_foreign_postgres(s->store, s->client, &tx, err);
    if (st == PAWL_OK)
        st = scenario_lease_guard(s, tx, err);
    pawl_tx_free(tx);
    if (st == PAWL_E_IN_DOUBT || st == PAWL_E_LOST)
        test_fail("the guard answered %s", pawl_status_name(st));
    if (s->client)
        PQclear(PQexec(s->client, "ROLLBACK"));
    return st;
}

/* ---- reading ---- */

static pawl_status part_of_an_answer(const char *what, size_t found, pawl_error *err)
{
    err->status = PAWL_E_STORE;
    snprintf(err->message, sizeof err->message, "%s answered PAWL_OK with %zu of them", what,
             found);
    return err->status;
}

pawl_status cut_list(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_messages *list = NULL;
    pawl_status st = pawl_outbox_list(s->store, &filter, &list, NULL, err);
    size_t count = st == PAWL_OK ? pawl_messages_count(list) : 0;

    (void)ret_changed;
    pawl_messages_free(list);
    return st == PAWL_OK && count != 7 ? part_of_an_answer("list", count, err) : st;
}

pawl_status cut_stats(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_outbox_stats *stats = NULL;
    pawl_status st = pawl_outbox_get_stats(s->store, &stats, err);
    size_t count = st == PAWL_OK ? pawl_outbox_stats_count(stats) : 0;
    const pawl_topic_stats *topic = st == PAWL_OK ? pawl_outbox_stats_at(stats, 0) : NULL;
    bool right = topic && count == 1 && topic->ready == 3 && topic->total_done == 2 &&
                 topic->total_cancelled == 1 && topic->total_failed == 2;

    (void)ret_changed;
    pawl_outbox_stats_free(stats);
    return st == PAWL_OK && !right ? part_of_an_answer("stats", count, err) : st;
}

static pawl_status find_one(scenario *s, bool by_id, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = by_id ? pawl_outbox_find(s->store, queue_id(3), &list, err)
                           : pawl_outbox_get(s->store, s->owned[2].id, &list, err);
    size_t count = st == PAWL_OK ? pawl_messages_count(list) : 0;

    pawl_messages_free(list);
    return st == PAWL_OK && count != 1 ? part_of_an_answer("find", count, err) : st;
}

pawl_status cut_read_messages(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_wall now = PAWL_TIME_UNSET;
    size_t owned = 0;
    pawl_status st = pawl_store_now(s->store, &now, err);

    (void)ret_changed;
    if (st == PAWL_OK && now.us != FIXTURE_START.us)
        st = part_of_an_answer("now", 0, err);
    if (st == PAWL_OK)
        st = scenario_read_owned(s, &owned, err);
    if (st == PAWL_OK && owned != 2)
        st = part_of_an_answer("owned", owned, err);
    if (st == PAWL_OK)
        st = find_one(s, true, err);
    if (st == PAWL_OK)
        st = find_one(s, false, err);
    return st;
}
