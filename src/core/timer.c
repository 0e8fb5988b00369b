/* src/core/timer.c - the scheduler: checks arguments for all strategies, then calls the
 * strategy. */
#include <pawl/timer.h>

#include <pawl/sys/strategy.h>

#include <stdlib.h>

#include "fail.h"
#include "message_private.h"
#include "options.h"
#include "message_spec.h"
#include "timer_private.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 10000

struct pawl_scheduler {
    const pawl_strategy *strategy;
    void *self;
};

static bool timer_is_whole(const pawl_strategy *strategy)
{
    return strategy->name && strategy->schedule && strategy->cancel && strategy->get &&
           strategy->list && strategy->count;
}

pawl_status pawl_scheduler_new(const pawl_strategy *strategy, void *take_self,
                               pawl_scheduler **ret_scheduler, pawl_error *err)
{
    if (!strategy || !ret_scheduler)
        return pawli_fail(err, PAWL_E_INVALID, "strategy and ret_scheduler must not be NULL");
    if (strategy->version != PAWL_STRATEGY_VERSION)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the strategy has version %u; this library supports version %u",
                          (unsigned)strategy->version, (unsigned)PAWL_STRATEGY_VERSION);
    if (!timer_is_whole(strategy))
        return pawli_fail(err, PAWL_E_INVALID,
                          "the strategy must implement schedule, cancel, get, pending and count, "
                          "and have a name");
    pawl_scheduler *scheduler = malloc(sizeof *scheduler);
    if (!scheduler)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the scheduler");
    *scheduler = (pawl_scheduler){strategy, take_self};
    *ret_scheduler = scheduler;
    return PAWL_OK;
}

void pawl_scheduler_free(pawl_scheduler *scheduler)
{
    if (!scheduler)
        return;
    if (scheduler->strategy->free)
        scheduler->strategy->free(scheduler->self);
    free(scheduler);
}

const char *pawl_scheduler_strategy(const pawl_scheduler *scheduler)
{
    return scheduler->strategy->name;
}

pawl_status pawl_message_spec_check(const pawl_message_spec *message,
                                    pawl_message_spec *ret_message, pawl_error *err)
{
    pawl_message_spec checked;
    bool made_id;

    if (!ret_message)
        return pawli_fail(err, PAWL_E_INVALID, "ret_message must not be NULL");
    pawl_status st =
        pawli_message_spec_read(message, TIMER_PAYLOAD_MAX_BYTES, &checked, &made_id, err);
    if (st == PAWL_OK)
        *ret_message = checked;
    return st;
}

static pawl_status check_scheduler(const pawl_scheduler *scheduler, pawl_error *err)
{
    if (!scheduler)
        return pawli_fail(err, PAWL_E_INVALID, "the scheduler must not be NULL");
    return PAWL_OK;
}

pawl_status pawl_timer_schedule_batch(pawl_scheduler *scheduler, const pawl_message_spec *messages,
                                      size_t count, pawl_enqueued *ret_enqueued, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_enqueued *unwanted = NULL;
    pawl_status st = check_scheduler(scheduler, err);

    if (st != PAWL_OK)
        return st;
    if (!messages || count < 1 || count > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "pass 1 to %d messages, not NULL", PAWL_BATCH_MAX);
    if (!ret_enqueued) {
        ret_enqueued = unwanted = malloc(count * sizeof *unwanted);
        if (!unwanted)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu messages", count);
    }
    return scheduler->strategy->schedule(scheduler->self, messages, count, ret_enqueued, err);
}

pawl_status pawl_timer_schedule(pawl_scheduler *scheduler, const pawl_message_spec *message,
                                pawl_enqueued *ret_enqueued, pawl_error *err)
{
    pawl_enqueued enqueued;
    pawl_status st = pawl_timer_schedule_batch(scheduler, message, 1, &enqueued, err);

    if (st == PAWL_OK && ret_enqueued)
        *ret_enqueued = enqueued;
    if (st == PAWL_E_IN_DOUBT && ret_enqueued)
        ret_enqueued->message_id = enqueued.message_id;
    return st;
}

pawl_status pawl_timer_cancel(pawl_scheduler *scheduler, const pawl_uuid *ids, size_t count,
                              size_t *ret_cancelled, pawl_error *err)
{
    size_t cancelled = 0;
    pawl_status st = check_scheduler(scheduler, err);

    if (st != PAWL_OK)
        return st;
    if (!ids || count > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "pass at most %d timers, not NULL", PAWL_BATCH_MAX);
    if (count > 0)
        st = scheduler->strategy->cancel(scheduler->self, ids, count, &cancelled, err);
    if (st == PAWL_OK && ret_cancelled)
        *ret_cancelled = cancelled;
    return st;
}

pawl_status pawl_timer_get(pawl_scheduler *scheduler, pawl_uuid id, pawl_messages **ret_one,
                           pawl_error *err)
{
    pawl_status st = check_scheduler(scheduler, err);

    if (st != PAWL_OK)
        return st;
    if (!ret_one)
        return pawli_fail(err, PAWL_E_INVALID, "ret_one must not be NULL");
    return scheduler->strategy->get(scheduler->self, id, ret_one, err);
}

static pawl_status read_query(const pawl_timer_filter *given, pawl_timer_filter *query,
                              pawl_error *err)
{
    pawl_status st;

    *query = (pawl_timer_filter)PAWL_TIMER_FILTER_INIT;
    st = pawli_options_copy(query, sizeof *query, given, err);
    if (st != PAWL_OK)
        return st;
    if (query->limit < 0 || query->limit > LIMIT_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the limit must be 0 (default) to %d", LIMIT_MAX);
    if (query->due_from.us < 0 || query->due_before.us < 0)
        return pawli_fail(err, PAWL_E_INVALID, "due_from and due_before must not be before 1970");
    if (query->limit == 0)
        query->limit = LIMIT_DEFAULT;
    return PAWL_OK;
}

pawl_status pawl_timer_list(pawl_scheduler *scheduler, const pawl_timer_filter *given,
                            pawl_messages **ret_list, pawl_page *ret_next, pawl_error *err)
{
    pawl_timer_filter query;
    pawl_page next = PAWL_PAGE_INIT;
    pawl_status st = check_scheduler(scheduler, err);

    if (st == PAWL_OK && !ret_list)
        st = pawli_fail(err, PAWL_E_INVALID, "ret_list must not be NULL");
    if (st == PAWL_OK)
        st = read_query(given, &query, err);
    if (st == PAWL_OK)
        st = scheduler->strategy->list(scheduler->self, &query, ret_list, &next, err);
    if (st == PAWL_OK && ret_next)
        *ret_next = next;
    return st;
}

pawl_status pawl_timer_count(pawl_scheduler *scheduler, const pawl_timer_filter *given,
                             pawl_timer_total *ret_total, pawl_error *err)
{
    pawl_timer_filter query;
    pawl_status st = check_scheduler(scheduler, err);

    if (st == PAWL_OK && !ret_total)
        st = pawli_fail(err, PAWL_E_INVALID, "ret_total must not be NULL");
    if (st == PAWL_OK)
        st = read_query(given, &query, err);
    if (st == PAWL_OK)
        st = scheduler->strategy->count(scheduler->self, &query, ret_total, err);
    return st;
}

/* For strategies without a next_due function: reads page by page until a timer is found. */
static pawl_status first_pending(pawl_scheduler *scheduler, pawl_wall *ret_due, pawl_error *err)
{
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;
    pawl_wall due = PAWL_TIME_UNSET;
    pawl_status st;

    query.limit = 1;
    do {
        PAWLI_AUTO(pawl_messages) list = NULL;
        pawl_page next = PAWL_PAGE_INIT;

        st = scheduler->strategy->list(scheduler->self, &query, &list, &next, err);
        if (st == PAWL_OK && pawl_messages_count(list) > 0)
            due = pawl_message_next_attempt_at(pawl_messages_at(list, 0));
        query.after = next;
    } while (st == PAWL_OK && due.us == 0 && !PAWL_PAGE_IS_NONE(query.after));
    if (st == PAWL_OK)
        *ret_due = due;
    return st;
}

pawl_status pawl_timer_next_due(pawl_scheduler *scheduler, pawl_wall *ret_due, pawl_error *err)
{
    pawl_status st = check_scheduler(scheduler, err);

    if (st != PAWL_OK)
        return st;
    if (!ret_due)
        return pawli_fail(err, PAWL_E_INVALID, "ret_due must not be NULL");
    if (!scheduler->strategy->next_due)
        return first_pending(scheduler, ret_due, err);
    return scheduler->strategy->next_due(scheduler->self, ret_due, err);
}

pawl_status pawl_timer_take_due(pawl_scheduler *scheduler, int limit, pawl_messages **ret_list,
                                pawl_error *err)
{
    pawl_status st = check_scheduler(scheduler, err);

    if (st != PAWL_OK)
        return st;
    if (!ret_list || limit < 1 || limit > LIMIT_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the limit must be 1 to %d, and ret_list must not be NULL", LIMIT_MAX);
    if (!scheduler->strategy->take_due)
        return pawli_fail(err, PAWL_E_UNSUPPORTED,
                          "the strategy '%s' has no take function: a worker or pawl_queue_claim() "
                          "claims its due timers",
                          scheduler->strategy->name);
    return scheduler->strategy->take_due(scheduler->self, limit, ret_list, err);
}
