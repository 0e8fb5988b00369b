/* src/server/health.c - GET /health: the state of the receiver, the delivery and the worker. */
#include <jansson.h>
#include <string.h>

#include "receiver_private.h"

static const char *breaker_name(pawl_breaker_state state)
{
    switch (state) {
    case PAWL_BREAKER_OPEN:
        return "open";
    case PAWL_BREAKER_HALF_OPEN:
        return "half-open";
    default:
        return "closed";
    }
}

/* ---- the sections; each returns whether it is healthy; if memory runs out, sections are left
 * out ---- */

static json_t *destination_json(const pawl_destination_stats *stats)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "breaker", breaker_name(stats->breaker),
                     "in_flight", (json_int_t)stats->in_flight, "sent", (json_int_t)stats->sent,
                     "duplicates", (json_int_t)stats->duplicate, "retried",
                     (json_int_t)stats->retried, "failed", (json_int_t)stats->failed);
}

static bool add_delivery(json_t *document, pawl_delivery *delivery)
{
    pawl_delivery_stats *stats = NULL;
    json_t *destinations = json_object();
    bool well = true;

    if (pawl_delivery_get_stats(delivery, &stats, NULL) == PAWL_OK)
        for (size_t i = 0; i < pawl_delivery_stats_count(stats); i++) {
            const pawl_destination_stats *one = pawl_delivery_stats_at(stats, i);
            well = well && one->breaker == PAWL_BREAKER_CLOSED;
            json_object_set_new(destinations, one->destination, destination_json(one));
        }
    pawl_delivery_stats_free(stats);
    json_object_set_new(
        document, "delivery",
        json_pack("{s:s, s:o}", "status", well ? "ok" : "degraded", "destinations", destinations));
    return well;
}

/* The reasons of failures are only logged: they may contain names that are not for everyone. */
static json_t *maintenance_json(const pawl_worker_stats *stats, bool *well)
{
    json_t *failing = json_array();

    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++)
        if (stats->maintenance[i].last_error[0]) {
            *well = false;
            json_array_append_new(failing, json_string(pawl_maintenance_name((pawl_maintenance)i)));
        }
    return failing;
}

static bool add_worker(json_t *document, pawl_worker *worker)
{
    pawl_worker_stats stats = PAWL_WORKER_STATS_INIT;
    bool well;

    pawl_worker_get_stats(worker, &stats);
    well = stats.breaker == PAWL_BREAKER_CLOSED;
    json_t *failing = maintenance_json(&stats, &well);
    json_object_set_new(document, "worker",
                        json_pack("{s:s, s:s, s:o}", "status", well ? "ok" : "degraded", "breaker",
                                  breaker_name(stats.breaker), "failing", failing));
    return well;
}

static json_t *rejections_json(pawl_receiver *receiver)
{
    json_t *refused = json_object();

    for (int i = 0; i < PAWLI_REJECTION_COUNT; i++)
        json_object_set_new(
            refused, pawli_rejection_name((pawli_rejection)i),
            json_integer(pawli_rejections_count(&receiver->rejections, (pawli_rejection)i)));
    return refused;
}

/*
 * Reports the last known state without calling the database. The endpoint needs no
 * authentication, so destinations are reported only to clients on this machine.
 */
static json_t *health_json(const pawli_listener *listener, bool runs, bool healthy,
                           const char *problem)
{
    pawl_receiver *receiver = listener->receiver;
    int64_t running = 0;
    int64_t waiting = 0;
    bool well = true;
    json_t *document;

    pawli_receive_pool_count(&receiver->pool, &running, &waiting);
    document = json_pack("{s:s, s:b, s:s, s:I, s:I}", "status",
                         !runs     ? "stopping"
                         : healthy ? "ok"
                                   : "unavailable",
                         "ready", runs && healthy, "database", healthy ? "ok" : problem, "running",
                         (json_int_t)running, "waiting", (json_int_t)waiting);
    json_object_set_new(document, "refused", rejections_json(receiver));
    if (receiver->delivery && listener->is_local)
        well = add_delivery(document, receiver->delivery);
    if (receiver->worker && listener->is_local)
        well = add_worker(document, receiver->worker) && well;
    if (runs && healthy && !well)
        json_object_set_new(document, "status", json_string("degraded"));
    return document;
}

void pawli_respond_health(const pawli_listener *listener, pawli_response *response)
{
    pawl_receiver *receiver = listener->receiver;
    char problem[256];
    bool healthy = pawli_receive_renewer_healthy(&receiver->renewer, problem, sizeof problem);
    bool runs = atomic_load(&receiver->state) == PAWLI_RECEIVER_RUNS;
    json_t *document = health_json(listener, runs, healthy, problem);

    response->status = runs && healthy ? 200 : 503;
    response->body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    response->body_size = response->body ? strlen(response->body) : 0;
    json_decref(document);
}
