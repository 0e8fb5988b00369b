/* src/core/topic_private.h - topic queries for the worker. */
#ifndef PAWLI_TOPIC_PRIVATE_H
#define PAWLI_TOPIC_PRIVATE_H

#include <pawl/topic.h>

/*
 * Lists the topics that have a message due now for a local handler, except paused ones; at most
 * `limit`. Only their names are set. *ret_topics is the caller's. Any thread.
 */
PAWL_MUST_CHECK pawl_status pawli_topics_due(pawl_store *store, int limit, pawl_topics **ret_topics,
                                             pawl_error *err);

#endif
