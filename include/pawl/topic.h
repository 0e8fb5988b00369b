/* include/pawl/topic.h - settings of whole topics: paused, and dead letters recorded. */
#ifndef PAWL_TOPIC_H
#define PAWL_TOPIC_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

/**
 * Pauses a topic for all workers of this database: no message of it, of any priority, is claimed
 * until pawl_topic_resume(). Messages in progress continue, and messages enqueued meanwhile wait. A
 * topic may be paused before its first message. Its messages still expire.
 *
 * Ownership: `topic` is copied.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout.
 * Durable:   on PAWL_OK it is committed, and claims that begin afterwards obey it. May be repeated,
 *            also after PAWL_E_IN_DOUBT.
 * Errors:    PAWL_E_INVALID (topic NULL, empty or longer than PAWL_TOPIC_MAX), PAWL_E_BUSY,
 *            PAWL_E_TIMEOUT, PAWL_E_IN_DOUBT, PAWL_E_UNAVAILABLE.
 *
 * *ret_changed (may be NULL): it was not paused before.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_topic_pause(pawl_store *store, const char *topic,
                                                      bool *ret_changed, pawl_error *err);
/*
 * Resumes a topic; the messages that have waited are claimed in the order of their due times. Wakes
 * workers.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_topic_resume(pawl_store *store, const char *topic,
                                                       bool *ret_changed, pawl_error *err);

/*
 * Sets whether messages of `topic` (NULL: of every topic) that fail or expire from now on are
 * recorded for a dead-letter handler (dead.h). Off by default, so that records do not accumulate
 * where no handler is called. Stored in the database; a topic is off only if neither it nor every
 * topic is on.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_topic_dead_letters(pawl_store *store, const char *topic,
                                                             bool wanted, pawl_error *err);

/* One topic. Owned by the library; members are added only at the end. */
typedef struct pawl_topic {
    const char *name;
    pawl_wall paused_at; /* PAWL_TIME_UNSET: not paused */
    bool dead_letters;   /* dead letters are recorded for a handler */
} pawl_topic;

/* An owned list of topics. */
typedef struct pawl_topics pawl_topics;

/*
 * Lists every topic that has had a message, is paused or has dead letters recorded; sorted by name.
 * The list is complete: it has no pages.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_topic_list(pawl_store *store, pawl_topics **ret_list,
                                                     pawl_error *err);
PAWL_API size_t pawl_topics_count(const pawl_topics *topics);
/* Borrowed from the list; NULL when `index` is out of range. */
PAWL_API const pawl_topic *pawl_topics_at(const pawl_topics *topics, size_t index);
PAWL_API void pawl_topics_free(pawl_topics *topics); /* NULL is allowed */

PAWL_END_DECLS

#endif
