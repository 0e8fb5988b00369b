/* tests/fault/life_inbox.c - the calls of one life that receive. */
#include "life.h"
#include "life_steps.h"

#define SOURCE "shop"

/* An attempt that was cut off may be in the way until its lease has ended. */
static void let_leases_end(life *l)
{
    pawl_arrival_free(l->arrival);
    l->arrival = NULL;
    fixture_advance(l->f, HOUR_MS);
}

/* What has been processed by an earlier, failed call is as good. */
static bool is_new(const life *l)
{
    pawl_inbox_answer answer = pawl_arrival_answer(l->arrival);

    if (answer != PAWL_INBOX_NEW && answer != PAWL_INBOX_DUPLICATE)
        test_fail("a delivery was answered with '%s'", pawl_inbox_answer_name(answer));
    return answer == PAWL_INBOX_NEW;
}

static pawl_status receive(life *l, pawl_error *err)
{
    pawl_outgoing next = kit_message("life", "1");
    uint8_t hash[PAWL_HASH_SIZE];
    pawl_status st = pawl_inbox_hash("payload", 7, hash, err);

    next.correlation_id = "1";
    if (st == PAWL_OK)
        st = pawl_inbox_begin(l->store, SOURCE, "atomic", hash, NULL, &l->arrival, err);
    if (st != PAWL_OK || !is_new(l))
        return st;
    st = life_write_row(l, pawl_arrival_tx(l->arrival), 1, err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(pawl_arrival_tx(l->arrival), &next, NULL, err);
    return st == PAWL_OK ? pawl_arrival_done(l->arrival, "response", 8, err) : st;
}

static pawl_status call_out(life *l, pawl_error *err)
{
    pawl_status st = pawl_inbox_call(l->store, SOURCE, "call", NULL, NULL, &l->arrival, err);

    if (st != PAWL_OK || !is_new(l))
        return st;
    st = pawl_arrival_renew(l->arrival, MINUTE_MS, err);
    return st == PAWL_OK ? pawl_arrival_done(l->arrival, NULL, 0, err) : st;
}

static pawl_status give_up(life *l, pawl_error *err)
{
    pawl_status st = pawl_inbox_begin(l->store, SOURCE, "dead", NULL, NULL, &l->arrival, err);

    return st == PAWL_OK ? pawl_arrival_give_up(l->arrival, "broken", err) : st;
}

static pawl_status mark(life *l, pawl_error *err)
{
    bool processed = false;
    pawl_status st = pawl_inbox_already_processed(l->store, SOURCE, "small", NULL, &processed, err);

    if (st == PAWL_OK)
        st = pawl_inbox_mark_processing(l->store, SOURCE, "small", err);
    return st == PAWL_OK ? pawl_inbox_mark_processed(l->store, SOURCE, "small", err) : st;
}

static pawl_status read_everything(life *l, pawl_error *err)
{
    pawl_inbox_stats stats = PAWL_INBOX_STATS_INIT;
    pawl_inbox_records *list = NULL, *one = NULL;
    pawl_status st = pawl_inbox_list(l->store, NULL, &list, NULL, err);

    if (st == PAWL_OK)
        st = pawl_inbox_get(l->store, SOURCE, "atomic", &one, err);
    if (st == PAWL_OK && pawl_inbox_records_count(list) != 4)
        test_fail("the list has %zu records", pawl_inbox_records_count(list));
    pawl_inbox_records_free(list);
    pawl_inbox_records_free(one);
    return st == PAWL_OK ? pawl_inbox_read_stats(l->store, &stats, err) : st;
}

static pawl_status requeue(life *l, pawl_error *err)
{
    return pawl_inbox_requeue(l->store, SOURCE, "dead", NULL, err);
}

#define IS(id, state) "SELECT count(*) FROM {inbox_record} WHERE id = '" id "' AND state = " #state

static const life_step steps[] = {
    {"open", NULL, life_open, NULL, NULL, 0},
    {"receive", let_leases_end, receive, NULL,
     "SELECT (SELECT count(*) FROM {orders}) + (SELECT count(*) FROM {message})"
     " + (SELECT count(*) FROM {inbox_record} WHERE id = 'atomic' AND state = 2)",
     3},
    {"call out", let_leases_end, call_out, NULL, IS("call", 2), 1},
    {"give up", let_leases_end, give_up, NULL, IS("dead", 3), 1},
    {"mark", let_leases_end, mark, NULL, IS("small", 2), 1},
    {"reading", NULL, read_everything, NULL, NULL, 0},
    {"requeue", NULL, requeue, NULL, IS("dead", 0), 1},
    {NULL, NULL, NULL, NULL, NULL, 0},
};

const life_story life_inbox = {steps, "1:0/0"};
