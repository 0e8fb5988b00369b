/* src/server/health.c - GET /health: may messages be sent here? */
#include <jansson.h>
#include <string.h>

#include "receiver_private.h"

/* Answered from what is known: nobody waits for the database here. */
void pawli_health_answer(pawl_receiver *receiver, pawli_answer *answer)
{
    char trouble[256];
    bool healthy = pawli_keeper_healthy(&receiver->keeper, trouble, sizeof trouble);
    bool runs = atomic_load(&receiver->state) == PAWLI_RECEIVER_RUNS;
    int64_t running = 0;
    int64_t waiting = 0;
    json_t *document;

    pawli_crew_count(&receiver->crew, &running, &waiting);
    document = json_pack("{s:s, s:b, s:s, s:I, s:I}", "status",
                         !runs     ? "stopping"
                         : healthy ? "ok"
                                   : "unavailable",
                         "ready", runs && healthy, "database", healthy ? "ok" : trouble, "running",
                         (json_int_t)running, "waiting", (json_int_t)waiting);
    answer->status = runs && healthy ? 200 : 503;
    answer->body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    answer->body_size = answer->body ? strlen(answer->body) : 0;
    json_decref(document);
}
