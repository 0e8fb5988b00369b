/* src/transport/delivery_stats.c - how a delivery goes, destination by destination. */
#include <pawl/delivery.h>

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "delivery_private.h"
#include "fail.h"
#include "scope.h"

struct pawl_delivery_stats {
    pawl_destination_stats *items;
    size_t count;
    pawli_arena names;
};
PAWLI_AUTO_DEFINE(pawl_delivery_stats, pawl_delivery_stats_free);

/* Under the lock. */
static bool copy_recipients(const pawli_destinations *destinations, pawl_delivery_stats *stats)
{
    stats->items = calloc(destinations->count + 1, sizeof *stats->items);
    if (!stats->items)
        return false;
    for (size_t i = 0; i < destinations->count; i++) {
        const pawli_destination *destination = destinations->items[i];
        stats->items[i] = destination->stats;
        stats->items[i].destination =
            pawli_arena_copy(&stats->names, destination->name, strlen(destination->name));
        if (!stats->items[i].destination)
            return false;
        stats->count++;
    }
    return true;
}

pawl_status pawl_delivery_get_stats(pawl_delivery *delivery, pawl_delivery_stats **ret_stats,
                                    pawl_error *err)
{
    PAWLI_AUTO(pawl_delivery_stats) stats = NULL;

    if (!delivery || !ret_stats)
        return pawli_fail(err, PAWL_E_INVALID, "delivery and ret_stats must not be NULL");
    stats = calloc(1, sizeof *stats);
    pthread_mutex_lock(&delivery->lock);
    bool copied = stats && copy_recipients(&delivery->destinations, stats);
    pthread_mutex_unlock(&delivery->lock);
    if (!copied)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the statistics");
    *ret_stats = pawl_delivery_stats_take(&stats);
    return PAWL_OK;
}

size_t pawl_delivery_stats_count(const pawl_delivery_stats *stats)
{
    return stats ? stats->count : 0;
}

const pawl_destination_stats *pawl_delivery_stats_at(const pawl_delivery_stats *stats, size_t index)
{
    return stats && index < stats->count ? &stats->items[index] : NULL;
}

void pawl_delivery_stats_free(pawl_delivery_stats *stats)
{
    if (!stats)
        return;
    pawli_arena_done(&stats->names);
    free(stats->items);
    free(stats);
}
