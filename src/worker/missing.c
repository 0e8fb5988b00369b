/* src/worker/missing.c - warning of topics without a handler, once in a while for each. */
#include "missing.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
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

void pawli_missing_note(pawl_worker *worker, const char *topic)
{
    pawli_missing *missing = &worker->missing;
    pawl_mono now = pawli_worker_now(worker);
    size_t entry = entry_of(missing, topic);

    pawli_worker_count(worker, &worker->stats.missing, 1);
    if (entry < missing->count) {
        pawl_mono warned = missing->entries[entry].warned;
        if (warned.us != INT64_MIN && now.us < warned.us + worker->options.missing_ms * 1000)
            return;
        missing->entries[entry].warned = now;
    }
    pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
              "no handler is registered for topic '%.255s': its messages are put off", topic);
}
