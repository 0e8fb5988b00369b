/* src/core/topic.c - settings of topics: paused or not, dead letters handled or not. */
#include <pawl/topic.h>

#include <stdlib.h>
#include <string.h>

#include <pawl/message.h>

#include "arena.h"
#include "batch_update.h"
#include "fail.h"
#include "scope.h"
#include "store_private.h"
#include "text.h"
#include "topic_private.h"

struct pawl_topics {
    pawl_topic *items;
    size_t count;
    size_t capacity;
    pawli_arena names;
};

PAWLI_AUTO_DEFINE(pawl_topics, pawl_topics_free);

static pawl_status topic_check(const pawl_store *store, const char *topic, pawl_error *err)
{
    size_t characters;

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    if (!topic || !*topic || !pawli_utf8_check(topic, strlen(topic), &characters) ||
        characters > PAWL_TOPIC_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the topic must be 1 to %d characters of UTF-8",
                          PAWL_TOPIC_MAX);
    return PAWL_OK;
}

static pawl_status topic_say(pawl_store *store, enum pawli_sql sql, const char *topic,
                             bool *ret_changed, pawl_error *err)
{
    pawli_param params[] = {{"topic", pawli_text(topic)}};
    size_t changed = 0;
    pawl_status st = topic_check(store, topic, err);

    if (st == PAWL_OK)
        st = pawli_batch_update_found(store, sql, params, PAWLI_COUNT(params), &changed, err);
    if (st == PAWL_OK && ret_changed)
        *ret_changed = changed > 0;
    return st;
}

pawl_status pawl_topic_pause(pawl_store *store, const char *topic, bool *ret_changed,
                             pawl_error *err)
{
    return topic_say(store, PAWLI_SQL_TOPIC_PAUSE, topic, ret_changed, err);
}

pawl_status pawl_topic_resume(pawl_store *store, const char *topic, bool *ret_changed,
                              pawl_error *err)
{
    pawl_status st = topic_say(store, PAWLI_SQL_TOPIC_RESUME, topic, ret_changed, err);

    if (st == PAWL_OK || st == PAWL_E_IN_DOUBT)
        pawli_wake_signal(pawli_db_wake(store->db));
    return st;
}

pawl_status pawl_topic_dead_letters(pawl_store *store, const char *topic, bool wanted,
                                    pawl_error *err)
{
    pawli_param params[] = {
        {"topic", pawli_text(topic ? topic : "")},
        {"wanted", pawli_bool(wanted)},
    };
    pawl_status st = topic_check(store, topic ? topic : "any", err);

    if (st != PAWL_OK)
        return st;
    return pawli_batch_update_found(store, PAWLI_SQL_TOPIC_DEAD, params, PAWLI_COUNT(params), NULL,
                                    err);
}

static void topic_start(void *context)
{
    pawl_topics *topics = context;

    pawli_arena_done(&topics->names);
    topics->count = 0;
}

static pawl_status add_name(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_topics *topics = context;
    size_t size;
    const void *name = pawli_row_bytes(row, 0, &size);
    const char *copy = pawli_arena_copy(&topics->names, name, size);

    if (copy && topics->count == topics->capacity) {
        size_t capacity = topics->capacity ? topics->capacity * 2 : 16;
        pawl_topic *items = realloc(topics->items, capacity * sizeof *items);
        if (!items)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the topics");
        topics->items = items;
        topics->capacity = capacity;
    }
    if (!copy)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the topics");
    topics->items[topics->count++] = (pawl_topic){.name = copy};
    return PAWL_OK;
}

static pawl_status topic_add(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_topics *topics = context;
    pawl_status st = add_name(context, row, err);

    if (st != PAWL_OK)
        return st;
    topics->items[topics->count - 1].paused_at = pawli_row_time(row, 1);
    topics->items[topics->count - 1].dead_letters = pawli_row_int(row, 2) != 0;
    return PAWL_OK;
}

pawl_status pawli_topics_due(pawl_store *store, int limit, pawl_topics **ret_list, pawl_error *err)
{
    PAWLI_AUTO(pawl_topics) topics = calloc(1, sizeof(pawl_topics));
    pawli_param params[] = {{"limit", pawli_int(limit)}};
    pawli_op op = {
        .sql = PAWLI_SQL_TOPICS_DUE,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = add_name,
        .on_start = topic_start,
        .context = topics,
    };
    pawl_status st;

    if (!topics)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the topics");
    st = pawli_db_run(store->db, &op, err);
    if (st == PAWL_OK)
        *ret_list = pawl_topics_take(&topics);
    return st;
}

pawl_status pawl_topic_list(pawl_store *store, pawl_topics **ret_list, pawl_error *err)
{
    PAWLI_AUTO(pawl_topics) topics = NULL;

    if (!store || !ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_list must not be NULL");
    topics = calloc(1, sizeof *topics);
    if (!topics)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the topics");
    pawli_op op = {.sql = PAWLI_SQL_TOPIC_LIST,
                   .on_row = topic_add,
                   .on_start = topic_start,
                   .context = topics};
    pawl_status st = pawli_db_run(store->db, &op, err);
    if (st == PAWL_OK)
        *ret_list = pawl_topics_take(&topics);
    return st;
}

size_t pawl_topics_count(const pawl_topics *topics)
{
    return topics ? topics->count : 0;
}

const pawl_topic *pawl_topics_at(const pawl_topics *topics, size_t index)
{
    return topics && index < topics->count ? &topics->items[index] : NULL;
}

void pawl_topics_free(pawl_topics *topics)
{
    if (!topics)
        return;
    pawli_arena_done(&topics->names);
    free(topics->items);
    free(topics);
}
