/* src/worker/names.c - the topics there are in the store, for "all but these". */
#include "names.h"

#include "worker_private.h"
#include "world.h"

void pawli_names_done(pawli_names *names)
{
    pawl_topics_free(names->topics);
    *names = (pawli_names){0};
}

pawl_status pawli_names_refresh(pawl_worker *worker, bool *ret_changed, pawl_error *err)
{
    pawli_names *names = &worker->intake.wants.names;
    pawl_mono now = pawli_mono_now();
    pawl_topics *topics = NULL;
    pawl_status st;

    *ret_changed = false;
    if (names->topics && now.us < names->read_at.us + PAWLI_NAMES_AGE_US)
        return PAWL_OK;
    st = pawl_topic_list(worker->store, &topics, err);
    if (st != PAWL_OK)
        return st;
    pawl_topics_free(names->topics);
    names->topics = topics;
    names->read_at = now;
    *ret_changed = true;
    return PAWL_OK;
}

size_t pawli_names_count(const pawli_names *names)
{
    return pawl_topics_count(names->topics);
}

const char *pawli_names_at(const pawli_names *names, size_t index)
{
    return pawl_topics_at(names->topics, index)->name;
}
