/* include/pawl/sys/strategy.h - implementing a custom timer strategy.
 *
 * For extensions of pawl: this header may change more often than the others; its version number
 * then changes.
 */
#ifndef PAWL_SYS_STRATEGY_H
#define PAWL_SYS_STRATEGY_H

#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/message.h>
#include <pawl/outbox.h>
#include <pawl/timer.h>

PAWL_BEGIN_DECLS

#define PAWL_STRATEGY_VERSION 1

/*
 * A strategy. pawl_timer_...() validate the arguments that all strategies reject alike (NULL,
 * counts, filters and their limits, which are passed with defaults filled in) and then call these
 * functions, on the caller's thread, any number of them at once. Each must fulfill the contract
 * that pawl/timer.h states for its call: a `ret_` is never NULL and is written only on success, and
 * a failing call fills `err` (which may be NULL). The table must outlive all schedulers; new
 * members are only added at its end.
 */
typedef struct pawl_strategy {
    uint32_t version; /* PAWL_STRATEGY_VERSION */
    const char *name;
    /* 1 .. PAWL_BATCH_MAX messages, all or none, not validated: see pawl_message_spec_check(). Step
     * through them by messages[0].size, which may be that of another version. `ret_enqueued` has
     * `count` elements. */
    pawl_status (*schedule)(void *self, const pawl_message_spec *messages, size_t count,
                            pawl_enqueued *ret_enqueued, pawl_error *err);
    pawl_status (*cancel)(void *self, const pawl_uuid *ids, size_t count, size_t *ret_cancelled,
                          pawl_error *err);
    pawl_status (*get)(void *self, pawl_uuid id, pawl_messages **ret_one, pawl_error *err);
    /* *ret_next: a text of the strategy's choice, which it gets back in `after`. */
    pawl_status (*list)(void *self, const pawl_timer_filter *filter, pawl_messages **ret_list,
                        pawl_page *ret_next, pawl_error *err);
    pawl_status (*count)(void *self, const pawl_timer_filter *filter, pawl_timer_total *ret_total,
                         pawl_error *err);
    /* NULL: the first timer of `list` is used. */
    pawl_status (*next_due)(void *self, pawl_wall *ret_due, pawl_error *err);
    /* NULL: due timers cannot be taken; the call returns PAWL_E_UNSUPPORTED. */
    pawl_status (*take_due)(void *self, int limit, pawl_messages **ret_list, pawl_error *err);
    /* Called by pawl_scheduler_free(), with no other call in progress. May be NULL. */
    void (*free)(void *self);
} pawl_strategy;

/**
 * Creates a scheduler with a custom strategy.
 *
 * Ownership: *ret_scheduler is the caller's (pawl_scheduler_free, which calls the strategy's free).
 *            On failure `take_self` stays the caller's.
 * Threads:   any.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (NULL, another version, a function missing), PAWL_E_NOMEM.
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status
pawl_scheduler_new(const pawl_strategy *strategy, void *take_self, pawl_scheduler **ret_scheduler,
                   pawl_error *err);

/* ---- helpers for strategies, so that they behave as pawl's own ---- */

/*
 * Rejects a message that no store would accept, and returns the normalized message: a zero id is
 * replaced by a new one, an empty correlation id by NULL. Strings are borrowed from `message`.
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status pawl_message_spec_check(
    const pawl_message_spec *message, pawl_message_spec *ret_message, pawl_error *err);

/* The data from which a pawl_message is created. Everything is copied. */
typedef struct pawl_message_image {
    size_t size; /* set by PAWL_MESSAGE_IMAGE_INIT, never by hand */
    const pawl_message_spec *content;
    pawl_work_id work_id;
    pawl_wall created_at;
    pawl_wall due_at;
    pawl_wall next_attempt_at; /* PAWL_TIME_UNSET: it has finished */
    pawl_wall finished_at;
    pawl_state state; /* as it is shown: PAWL_STATE_SCHEDULED until the next attempt is due */
    int retries;
    const char *last_error; /* may be NULL */
    bool without_payload;
} pawl_message_image;
#define PAWL_MESSAGE_IMAGE_INIT                                                                    \
    {                                                                                              \
        sizeof(pawl_message_image), NULL, {0}, {0}, {0}, {0}, {0}, PAWL_STATE_READY, 0, NULL,      \
            false                                                                                  \
    }

/* Creates an empty list, which is the caller's (pawl_messages_free). */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status pawl_messages_new(pawl_messages **ret_list,
                                                                         pawl_error *err);
/* Appends a message. `image->content` must have passed pawl_message_spec_check(). */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status
pawl_messages_append(pawl_messages *list, const pawl_message_image *image, pawl_error *err);

PAWL_END_DECLS

#endif
