/* src/worker/topic_cache.c - the topics there are in the store, for "all but these". */
#include "topic_cache.h"

#include "worker_private.h"
#include "platform.h"

void pawli_topic_cache_done(pawli_topic_cache *topic_cache)
{
    pawl_topics_free(topic_cache->topics);
    *topic_cache = (pawli_topic_cache){0};
}

pawl_status pawli_topic_cache_refresh(pawl_worker *worker, bool *ret_changed, pawl_error *err)
{
    pawli_topic_cache *topic_cache = &worker->claim_loop.plan.topic_cache;
    pawl_mono now = pawli_mono_now();
    pawl_topics *topics = NULL;
    pawl_status st;

    *ret_changed = false;
    if (topic_cache->topics && now.us < topic_cache->read_at.us + PAWLI_NAMES_AGE_US)
        return PAWL_OK;
    st = pawl_topic_list(worker->store, &topics, err);
    if (st != PAWL_OK)
        return st;
    pawl_topics_free(topic_cache->topics);
    topic_cache->topics = topics;
    topic_cache->read_at = now;
    *ret_changed = true;
    return PAWL_OK;
}

size_t pawli_topic_cache_count(const pawli_topic_cache *topic_cache)
{
    return pawl_topics_count(topic_cache->topics);
}

const char *pawli_topic_cache_at(const pawli_topic_cache *topic_cache, size_t index)
{
    return pawl_topics_at(topic_cache->topics, index)->name;
}
