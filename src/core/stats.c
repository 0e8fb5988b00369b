/* src/core/stats.c - message counts per topic. */
#include <pawl/outbox.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "arena.h"
#include "fail.h"
#include "scope.h"
#include "store_private.h"
#include "platform.h"

#define COUNT_CAP 10000
#define CACHE_US 1000000

struct pawl_outbox_stats {
    atomic_int references; /* immutable once read, so the cache and its readers share it */
    pawl_topic_stats *topics;
    size_t count;
    size_t capacity;
    pawli_arena names;
};

PAWLI_AUTO_DEFINE(pawl_outbox_stats, pawl_outbox_stats_free);

void pawl_outbox_stats_free(pawl_outbox_stats *stats)
{
    if (!stats || atomic_fetch_sub(&stats->references, 1) > 1)
        return;
    pawli_arena_done(&stats->names);
    free(stats->topics);
    free(stats);
}

static void stats_start(void *context)
{
    pawl_outbox_stats *stats = context;

    pawli_arena_done(&stats->names);
    stats->count = 0;
}

static pawl_status stats_add_topic(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_outbox_stats *stats = context;
    size_t size;
    const void *name = pawli_row_bytes(row, 0, &size);
    const char *topic = pawli_arena_copy(&stats->names, name, size);

    if (topic && stats->count == stats->capacity) {
        size_t capacity = stats->capacity ? stats->capacity * 2 : 16;
        pawl_topic_stats *topics = realloc(stats->topics, capacity * sizeof *topics);
        if (!topics)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the counts");
        stats->topics = topics;
        stats->capacity = capacity;
    }
    if (!topic)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the counts");
    stats->topics[stats->count++] = (pawl_topic_stats){
        .topic = topic,
        .ready = pawli_row_int(row, 1),
        .running = pawli_row_int(row, 2),
        .depth_is_at_least = pawli_row_int(row, 3) != 0,
        .depth_estimate = pawli_row_int(row, 4),
        .total_done = pawli_row_int(row, 5),
        .total_failed = pawli_row_int(row, 6),
        .total_expired = pawli_row_int(row, 7),
        .total_cancelled = pawli_row_int(row, 8),
        .oldest_due_at = pawli_row_time(row, 9),
    };
    return PAWL_OK;
}

static pawl_outbox_stats *stats_cached(pawl_store *store)
{
    pawl_outbox_stats *stats = NULL;

    pthread_mutex_lock(&store->stats_lock);
    if (store->stats && pawli_mono_now().us - store->stats_read_at.us < CACHE_US) {
        stats = store->stats;
        atomic_fetch_add(&stats->references, 1);
    }
    pthread_mutex_unlock(&store->stats_lock);
    return stats;
}

static void stats_cache(pawl_store *store, pawl_outbox_stats *stats)
{
    pthread_mutex_lock(&store->stats_lock);
    pawl_outbox_stats *old = store->stats;
    atomic_fetch_add(&stats->references, 1);
    store->stats = stats;
    store->stats_read_at = pawli_mono_now();
    pthread_mutex_unlock(&store->stats_lock);
    pawl_outbox_stats_free(old);
}

pawl_status pawl_outbox_get_stats(pawl_store *store, pawl_outbox_stats **ret_stats, pawl_error *err)
{
    PAWLI_AUTO(pawl_outbox_stats) stats = NULL;
    pawli_param params[] = {{"cap", pawli_int(COUNT_CAP)}};
    pawl_status st;

    if (!store || !ret_stats)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_stats must not be NULL");
    stats = stats_cached(store);
    if (!stats) {
        stats = calloc(1, sizeof *stats);
        if (!stats)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the counts");
        atomic_init(&stats->references, 1);
        pawli_op op = {
            .sql = PAWLI_SQL_STATS,
            .params = params,
            .param_count = PAWLI_COUNT(params),
            .on_row = stats_add_topic,
            .on_start = stats_start,
            .context = stats,
        };
        st = pawli_db_run(store->db, &op, err);
        if (st != PAWL_OK)
            return st;
        stats_cache(store, stats);
    }
    *ret_stats = pawl_outbox_stats_take(&stats);
    return PAWL_OK;
}

size_t pawl_outbox_stats_count(const pawl_outbox_stats *stats)
{
    return stats ? stats->count : 0;
}

const pawl_topic_stats *pawl_outbox_stats_at(const pawl_outbox_stats *stats, size_t index)
{
    return stats && index < stats->count ? &stats->topics[index] : NULL;
}
