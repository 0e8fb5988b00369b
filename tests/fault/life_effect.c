/* tests/fault/life_effect.c - the calls of one life around the queue: effect once, topics, dead
 * letters. */
#include "life_steps.h"

#include <stdio.h>

#include "application_sql.h"

static pawl_outgoing message(const char *number)
{
    pawl_outgoing m = kit_message("effect", number);

    m.id = kit_id(number[0]);
    m.correlation_id = number;
    return m;
}

pawl_status life_effect_send(life *l, pawl_error *err)
{
    pawl_outgoing one = message("8");

    return pawl_outbox_enqueue(l->store, &one, NULL, err);
}

pawl_status life_effect_claim(life *l, pawl_error *err)
{
    static const char *const topic = "effect";
    pawl_claim_options only = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list = NULL;

    only.topics = &topic;
    only.topic_count = 1;
    pawl_status st = pawl_queue_claim(l->store, kit_owner(1), HOUR_MS, 1, &only, &list, err);
    pawl_messages_free(list);
    return st;
}

/* The application's own statement does not fail by itself, only with the connection. */
pawl_status life_write_row(life *l, pawl_tx *tx, int n, pawl_error *err)
{
    failing_pause();
    const char *sql = fixture_expand(l->f, test_note("INSERT INTO {orders} VALUES (%d)", n));
    bool done = application_sql(tx, sql);
    failing_resume();
    if (done)
        return PAWL_OK;
    *err = (pawl_error){.status = PAWL_E_UNAVAILABLE};
    snprintf(err->message, sizeof err->message, "the application could not write its row");
    return PAWL_E_UNAVAILABLE;
}

pawl_status life_effect_once(life *l, pawl_error *err)
{
    pawl_outgoing next = message("9");
    pawl_status st = pawl_message_begin(l->store, kit_owner(1), l->held[8], &l->tx, err);

    next.delay_ms = 100 * DAY_MS;
    if (st == PAWL_OK)
        st = life_lease_guard(l, err);
    if (st == PAWL_OK)
        st = life_write_row(l, l->tx, 8, err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(l->tx, &next, NULL, err);
    if (st == PAWL_OK)
        st = pawl_message_commit(l->tx, err);
    pawl_tx_free(l->tx);
    l->tx = NULL;
    return st;
}

pawl_status life_progress(life *l, pawl_error *err)
{
    return pawl_queue_progress(l->store, kit_owner(1), l->held[2], "half", err);
}

pawl_status life_pause(life *l, pawl_error *err)
{
    return pawl_topic_pause(l->store, "effect", NULL, err);
}

pawl_status life_resume(life *l, pawl_error *err)
{
    pawl_topics *topics = NULL;
    pawl_status st = pawl_topic_list(l->store, &topics, err);

    pawl_topics_free(topics);
    return st == PAWL_OK ? pawl_topic_resume(l->store, "effect", NULL, err) : st;
}

pawl_status life_dead_letters(life *l, pawl_error *err)
{
    return pawl_topic_dead_letters(l->store, "life", true, err);
}

pawl_status life_dead_claim(life *l, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_dead_claim(l->store, kit_owner(1), HOUR_MS, 10, NULL, &list, err);

    pawl_messages_free(list);
    return st;
}

void life_dead_learn(life *l)
{
    l->dead_fence = fixture_count(l->f, "SELECT max(fence) FROM {dead}");
}

pawl_status life_dead_done(life *l, pawl_error *err)
{
    pawl_held item = {l->held[6].id, l->dead_fence};

    return pawl_dead_done(l->store, kit_owner(1), &item, 1, NULL, err);
}

pawl_status life_dead_retry(life *l, pawl_error *err)
{
    pawl_held item = {l->held[4].id, l->dead_fence};

    return pawl_dead_retry(l->store, kit_owner(1), &item, 1, "again", PAWL_DELAY_BY_POLICY, NULL,
                           err);
}
