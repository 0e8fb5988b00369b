/* src/worker/missing.c - warning of topics without a handler, once in a while for each. */
#include "missing.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "topic_private.h"
#include "worker_private.h"
#include "world.h"

void pawli_missing_done(pawli_missing *missing)
{
    for (size_t i = 0; i < missing->count; i++)
        free(missing->entries[i].topic);
    *missing = (pawli_missing){0};
}

/* The topic's entry, or the one that was used longest ago, with its topic changed. */
static size_t entry_of(pawli_missing *missing, const char *topic)
{
    size_t oldest = 0;

    for (size_t i = 0; i < missing->count; i++) {
        if (strcmp(missing->entries[i].topic, topic) == 0)
            return i;
        if (missing->entries[i].warned.us < missing->entries[oldest].warned.us)
            oldest = i;
    }
    char *copy = strdup(topic);
    if (!copy)
        return SIZE_MAX;
    if (missing->count < PAWLI_MISSING_ROOM)
        oldest = missing->count++;
    else
        free(missing->entries[oldest].topic);
    missing->entries[oldest].topic = copy;
    missing->entries[oldest].warned = (pawl_mono){INT64_MIN};
    return oldest;
}

/* Whether it is time to warn of the topic again; then that is noted. */
static bool is_due(pawl_worker *worker, const char *topic)
{
    pawli_missing *missing = &worker->missing;
    pawl_mono now = pawli_worker_now(worker);
    size_t entry = entry_of(missing, topic);

    if (entry < missing->count) {
        pawl_mono warned = missing->entries[entry].warned;
        if (warned.us != INT64_MIN && now.us < warned.us + worker->options.missing_ms * 1000)
            return false;
        missing->entries[entry].warned = now;
    }
    return true;
}

void pawli_missing_note(pawl_worker *worker, const char *topic)
{
    pawli_worker_count(worker, &worker->stats.missing, 1);
    if (is_due(worker, topic))
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                  "no handler is registered for topic '%.255s': its messages are put off", topic);
}

static bool claims_all(const pawl_worker *worker)
{
    return worker->handlers.fallback || worker->options.all_topics || worker->options.chores_only;
}

void pawli_missing_check(pawl_worker *worker)
{
    pawli_missing *missing = &worker->missing;
    pawl_mono now = pawli_worker_now(worker);
    pawl_topics *topics = NULL;

    if (claims_all(worker) || worker->options.missing_ms == 0 || now.us < missing->next_check.us)
        return;
    missing->next_check = (pawl_mono){now.us + worker->options.missing_ms * 1000};
    if (pawli_topics_due(worker->store, (int)worker->handlers.count + PAWLI_MISSING_ROOM, &topics,
                         NULL) != PAWL_OK)
        return;
    for (size_t i = 0; i < pawl_topics_count(topics); i++) {
        const char *topic = pawl_topics_at(topics, i)->name;
        if (!pawli_handlers_own(&worker->handlers, topic) && is_due(worker, topic))
            pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                      "no handler is registered for topic '%.255s': its messages that are due are "
                      "left to other workers",
                      topic);
    }
    pawl_topics_free(topics);
}
