/* src/worker/unhandled_topics.c - warning of topics without a handler, once in a while for each. */
#include "unhandled_topics.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "topic_private.h"
#include "worker_private.h"
#include "platform.h"

void pawli_unhandled_topics_done(pawli_unhandled_topics *unhandled)
{
    for (size_t i = 0; i < unhandled->count; i++)
        free(unhandled->entries[i].topic);
    *unhandled = (pawli_unhandled_topics){0};
}

/* The topic's entry, or the one that was used longest ago, with its topic changed. */
static size_t entry_of(pawli_unhandled_topics *unhandled, const char *topic)
{
    size_t oldest = 0;

    for (size_t i = 0; i < unhandled->count; i++) {
        if (strcmp(unhandled->entries[i].topic, topic) == 0)
            return i;
        if (unhandled->entries[i].warned.us < unhandled->entries[oldest].warned.us)
            oldest = i;
    }
    char *copy = strdup(topic);
    if (!copy)
        return SIZE_MAX;
    if (unhandled->count < PAWLI_UNHANDLED_TOPICS_ROOM)
        oldest = unhandled->count++;
    else
        free(unhandled->entries[oldest].topic);
    unhandled->entries[oldest].topic = copy;
    unhandled->entries[oldest].warned = (pawl_mono){INT64_MIN};
    return oldest;
}

/* Whether it is time to warn of the topic again; then that is noted. */
static bool topics_is_due(pawl_worker *worker, const char *topic)
{
    pawli_unhandled_topics *unhandled = &worker->unhandled;
    pawl_mono now = pawli_worker_now(worker);
    size_t entry = entry_of(unhandled, topic);

    if (entry < unhandled->count) {
        pawl_mono warned = unhandled->entries[entry].warned;
        if (warned.us != INT64_MIN &&
            now.us < warned.us + worker->options.no_handler_warn_ms * 1000)
            return false;
        unhandled->entries[entry].warned = now;
    }
    return true;
}

void pawli_unhandled_topics_claimed(pawl_worker *worker, const char *topic)
{
    pawli_worker_count(worker, &worker->stats.unhandled, 1);
    if (topics_is_due(worker, topic))
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                  "no handler is registered for topic '%.255s': its messages are put off", topic);
}

static bool claims_all(const pawl_worker *worker)
{
    return worker->handlers.fallback || worker->options.all_topics ||
           worker->options.maintenance_only;
}

void pawli_unhandled_topics_check(pawl_worker *worker)
{
    pawli_unhandled_topics *unhandled = &worker->unhandled;
    pawl_mono now = pawli_worker_now(worker);
    pawl_topics *topics = NULL;

    if (claims_all(worker) || worker->options.no_handler_warn_ms == 0 ||
        now.us < unhandled->next_check.us)
        return;
    unhandled->next_check = (pawl_mono){now.us + worker->options.no_handler_warn_ms * 1000};
    if (pawli_topics_due(worker->store, (int)worker->handlers.count + PAWLI_UNHANDLED_TOPICS_ROOM,
                         &topics, NULL) != PAWL_OK)
        return;
    for (size_t i = 0; i < pawl_topics_count(topics); i++) {
        const char *topic = pawl_topics_at(topics, i)->name;
        if (!pawli_handlers_own(&worker->handlers, topic) && topics_is_due(worker, topic))
            pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                      "no handler is registered for topic '%.255s': its messages that are due are "
                      "left to other workers",
                      topic);
    }
    pawl_topics_free(topics);
}
