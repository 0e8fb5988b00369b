/* tests/cut/steps_read.c - the steps that only read. A part of an answer is not an answer. */
#include <stdio.h>

#include "steps.h"

static pawl_status part_of_an_answer(const char *what, size_t found, pawl_error *err)
{
    err->status = PAWL_E_STORE;
    snprintf(err->message, sizeof err->message, "%s answered PAWL_OK with %zu of them", what,
             found);
    return err->status;
}

pawl_status step_list(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_filter filter = PAWL_FILTER_INIT;
    pawl_messages *list = NULL;
    pawl_status st = pawl_outbox_list(w->store, &filter, &list, NULL, err);
    size_t count = st == PAWL_OK ? pawl_messages_count(list) : 0;

    (void)ret_changed;
    pawl_messages_free(list);
    return st == PAWL_OK && count != 7 ? part_of_an_answer("list", count, err) : st;
}

pawl_status step_stats(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_stats *stats = NULL;
    pawl_status st = pawl_outbox_stats(w->store, &stats, err);
    size_t count = st == PAWL_OK ? pawl_stats_count(stats) : 0;
    const pawl_topic_stats *topic = st == PAWL_OK ? pawl_stats_at(stats, 0) : NULL;
    bool right = topic && count == 1 && topic->ready == 3 && topic->total_done == 2 &&
                 topic->total_cancelled == 1 && topic->total_failed == 2;

    (void)ret_changed;
    pawl_stats_free(stats);
    return st == PAWL_OK && !right ? part_of_an_answer("stats", count, err) : st;
}

static pawl_status find_one(world *w, bool by_id, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = by_id ? pawl_outbox_find(w->store, kit_id(3), &list, err)
                           : pawl_outbox_get(w->store, w->held[2].id, &list, err);
    size_t count = st == PAWL_OK ? pawl_messages_count(list) : 0;

    pawl_messages_free(list);
    return st == PAWL_OK && count != 1 ? part_of_an_answer("find", count, err) : st;
}

pawl_status step_look(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_wall now = PAWL_NEVER;
    size_t held = 0;
    pawl_status st = pawl_store_now(w->store, &now, err);

    (void)ret_changed;
    if (st == PAWL_OK && now.us != FIXTURE_START.us)
        st = part_of_an_answer("now", 0, err);
    if (st == PAWL_OK)
        st = step_learn_held(w, &held, err);
    if (st == PAWL_OK && held != 2)
        st = part_of_an_answer("held", held, err);
    if (st == PAWL_OK)
        st = find_one(w, true, err);
    if (st == PAWL_OK)
        st = find_one(w, false, err);
    return st;
}
