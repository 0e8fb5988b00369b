/* src/core/strategy_memory.c - timers in process memory, for development and tests. */
#include <pawl/sys/strategy.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "message_private.h"
#include "options.h"
#include "message_spec.h"
#include "page.h"
#include "scope.h"
#include "timer_table.h"
#include "platform.h"

#define KEEP_MAX 100000000

typedef struct memory {
    pawl_wall (*now)(void *context);
    void *context;
    pthread_mutex_t lock;
    pawli_timer_table table; /* guarded by the lock */
} memory;

/* Call it without the lock: the clock may be a function of the application. */
static pawl_wall read_clock(const memory *m)
{
    return m->now ? m->now(m->context) : pawli_wall_now();
}

/* ---- scheduling ---- */

/* Copies of all messages, made before the lock is taken; unused copies are freed. */
typedef struct batch {
    pawli_timer **timers;
    size_t count;
} batch;

static void batch_done(batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->timers[i]);
    free(b->timers);
}

static pawl_status copy_messages(batch *b, const pawl_message_spec *messages, size_t count,
                                 pawl_wall now, pawl_error *err)
{
    size_t bytes = 0;

    b->timers = calloc(count, sizeof(pawli_timer *));
    if (!b->timers)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu timers", count);
    for (; b->count < count; b->count++) {
        const void *given = (const char *)messages + b->count * messages->size;
        pawl_message_spec message;
        pawl_status st = pawl_message_spec_check(given, &message, err);

        if (st != PAWL_OK)
            return st;
        bytes += message.payload_size;
        st = pawli_message_spec_check_batch(count, bytes, err);
        if (st != PAWL_OK)
            return st;
        b->timers[b->count] = pawli_timer_copy(&message, now);
        if (!b->timers[b->count])
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu timers", count);
    }
    return PAWL_OK;
}

static pawl_enqueued answer_for(const pawli_timer *timer, bool existed)
{
    return (pawl_enqueued){timer->work_id, timer->message.id, existed, timer->due_at};
}

static int memory_by_id(const void *a, const void *b)
{
    const pawli_timer *const *x = a, *const *y = b;

    return memcmp((*x)->message.id.bytes, (*y)->message.id.bytes, 16);
}

/* A repeated id in one batch must have the same message. */
static pawl_status check_repeated(const batch *b, pawl_error *err)
{
    PAWLI_AUTO_FREE pawli_timer **sorted = NULL;

    if (b->count < 2)
        return PAWL_OK;
    sorted = malloc(b->count * sizeof(pawli_timer *));
    if (!sorted)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu timers", b->count);
    memcpy(sorted, b->timers, b->count * sizeof(pawli_timer *));
    qsort(sorted, b->count, sizeof(pawli_timer *), memory_by_id);
    for (size_t i = 1; i < b->count; i++)
        if (memory_by_id(&sorted[i - 1], &sorted[i]) == 0 &&
            !pawli_message_spec_same(&sorted[i - 1]->message, &sorted[i]->message))
            return pawli_message_spec_conflict(&sorted[i]->message, err);
    return PAWL_OK;
}

static pawl_status check_known(const pawli_timer_table *table, const batch *b, pawl_error *err)
{
    for (size_t i = 0; i < b->count; i++) {
        const pawli_timer *known = pawli_timer_table_find(table, b->timers[i]->message.id);

        if (known && !pawli_message_spec_same(&known->message, &b->timers[i]->message))
            return pawli_message_spec_conflict(&b->timers[i]->message, err);
    }
    return PAWL_OK;
}

/* All or none: every step that can fail comes before the first change. With the lock. */
static pawl_status add_all(pawli_timer_table *table, batch *b, pawl_enqueued *ret_enqueued,
                           pawl_error *err)
{
    pawl_status st = check_known(table, b, err);

    if (st == PAWL_OK && !pawli_timer_table_reserve(table, b->count))
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu timers", b->count);
    if (st != PAWL_OK)
        return st;
    for (size_t i = 0; i < b->count; i++) {
        pawli_timer *timer = b->timers[i];
        const pawli_timer *known = pawli_timer_table_find(table, timer->message.id);

        if (!known) {
            b->timers[i] = NULL;
            pawli_timer_table_add(table, timer);
        }
        ret_enqueued[i] = answer_for(known ? known : timer, known != NULL);
    }
    return PAWL_OK;
}

static pawl_status memory_schedule(void *self, const pawl_message_spec *messages, size_t count,
                                   pawl_enqueued *ret_enqueued, pawl_error *err)
{
    memory *m = self;
    batch b = {0};
    pawl_status st = copy_messages(&b, messages, count, read_clock(m), err);

    if (st == PAWL_OK)
        st = check_repeated(&b, err);
    if (st == PAWL_OK) {
        pthread_mutex_lock(&m->lock);
        st = add_all(&m->table, &b, ret_enqueued, err);
        pthread_mutex_unlock(&m->lock);
    }
    batch_done(&b);
    return st;
}

static pawl_status memory_cancel(void *self, const pawl_uuid *ids, size_t count,
                                 size_t *ret_cancelled, pawl_error *err)
{
    memory *m = self;
    pawl_wall now = read_clock(m);
    size_t cancelled = 0;

    (void)err;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < count; i++) {
        pawli_timer *timer = pawli_timer_table_find(&m->table, ids[i]);

        if (!timer || !timer->heap)
            continue;
        pawli_timer_heap_remove(timer);
        pawli_timer_table_finish(&m->table, timer, PAWL_STATE_CANCELLED, now);
        cancelled++;
    }
    pthread_mutex_unlock(&m->lock);
    *ret_cancelled = cancelled;
    return PAWL_OK;
}

/* ---- reading ---- */

static pawl_status memory_append(pawl_messages *list, const pawli_timer *timer, pawl_wall now,
                                 bool with_payload, pawl_error *err)
{
    bool scheduled = timer->heap && timer->run_at.us > now.us;
    pawl_message_image image = PAWL_MESSAGE_IMAGE_INIT;

    image.content = &timer->message;
    image.work_id = timer->work_id;
    image.created_at = timer->created_at;
    image.due_at = timer->due_at;
    image.next_attempt_at = timer->heap ? timer->run_at : PAWL_TIME_UNSET;
    image.finished_at = timer->finished_at;
    image.state = scheduled ? PAWL_STATE_SCHEDULED : timer->state;
    image.without_payload = !with_payload;
    return pawl_messages_append(list, &image, err);
}

static pawl_status memory_get(void *self, pawl_uuid id, pawl_messages **ret_one, pawl_error *err)
{
    memory *m = self;
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawl_wall now = read_clock(m);
    pawl_status st = pawli_messages_new(&list, err);

    if (st != PAWL_OK)
        return st;
    pthread_mutex_lock(&m->lock);
    const pawli_timer *timer = pawli_timer_table_find(&m->table, id);
    st = timer
             ? memory_append(list, timer, now, true, err)
             : pawli_fail(err, PAWL_E_NOT_FOUND, "no such timer; its record may have been dropped");
    pthread_mutex_unlock(&m->lock);
    if (st == PAWL_OK)
        *ret_one = pawl_messages_take(&list);
    return st;
}

static bool same_or_any(const char *wanted, const char *text)
{
    return !wanted || (text && strcmp(wanted, text) == 0);
}

static bool comes_after(const pawli_timer *timer, pawli_timer_mark mark)
{
    if (timer->run_at.us != mark.due_at.us)
        return timer->run_at.us > mark.due_at.us;
    return timer->work_id.value > mark.id;
}

static bool memory_matches(const pawli_timer *timer, const pawl_timer_filter *query,
                           pawli_timer_mark after)
{
    const pawl_message_spec *message = &timer->message;

    return timer->due_at.us != timer->created_at.us && same_or_any(query->topic, message->topic) &&
           same_or_any(query->destination, message->destination) &&
           same_or_any(query->correlation_id, message->correlation_id) &&
           timer->run_at.us >= query->due_from.us &&
           (query->due_before.us == 0 || timer->run_at.us < query->due_before.us) &&
           comes_after(timer, after);
}

/* The first matching timers, as many as `best` has room for; the last of them is at its top. */
static void memory_choose(const pawli_timer_heap *from, const pawl_timer_filter *query,
                          pawli_timer_mark after, size_t most, pawli_timer_heap *best)
{
    for (size_t i = 0; i < from->count; i++) {
        if (!memory_matches(from->items[i], query, after))
            continue;
        if (best->count == most) {
            if (!pawli_timer_earlier(from->items[i], pawli_timer_heap_first(best)))
                continue;
            pawli_timer_heap_pop(best);
        }
        pawli_timer_heap_push(best, from->items[i]);
    }
}

/* Converts the heap into a list, from its end: the heap returns the last one first. */
static pawl_status list_best(pawli_timer_heap *best, const pawl_timer_filter *query, pawl_wall now,
                             pawl_messages *list, pawli_timer_mark *ret_next, pawl_error *err)
{
    size_t count = best->count;
    pawl_status st = PAWL_OK;

    for (size_t i = count; i > 0; i--)
        best->items[i - 1] = pawli_timer_heap_pop(best);
    if (count > (size_t)query->limit) {
        const pawli_timer *last = best->items[--count - 1];
        *ret_next = (pawli_timer_mark){last->run_at, last->work_id.value};
    }
    for (size_t i = 0; i < count && st == PAWL_OK; i++)
        st = memory_append(list, best->items[i], now, query->with_payload, err);
    return st;
}

static pawl_status memory_list(void *self, const pawl_timer_filter *query, pawl_messages **ret_list,
                               pawl_page *ret_next, pawl_error *err)
{
    memory *m = self;
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawli_timer_heap best = {.before = pawli_timer_later, .loose = true};
    pawli_timer_mark next = {{0}, 0}, after;
    size_t most = (size_t)query->limit + 1;
    pawl_wall now = read_clock(m);
    pawl_status st = pawli_page_read_timer(&query->after, &after, err);

    if (st == PAWL_OK)
        st = pawli_messages_new(&list, err);
    if (st == PAWL_OK && !pawli_timer_heap_reserve(&best, most))
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu timers", most);
    if (st == PAWL_OK) {
        pthread_mutex_lock(&m->lock);
        memory_choose(&m->table.waiting, query, after, most, &best);
        memory_choose(&m->table.due, query, after, most, &best);
        st = list_best(&best, query, now, list, &next, err);
        pthread_mutex_unlock(&m->lock);
    }
    pawli_timer_heap_done(&best);
    if (st != PAWL_OK)
        return st;
    pawli_page_write_timer(next, ret_next);
    *ret_list = pawl_messages_take(&list);
    return PAWL_OK;
}

static int64_t count_in(const pawli_timer_heap *heap, const pawl_timer_filter *query,
                        pawli_timer_mark after)
{
    int64_t found = 0;

    for (size_t i = 0; i < heap->count; i++)
        found += memory_matches(heap->items[i], query, after);
    return found;
}

static pawl_status memory_count(void *self, const pawl_timer_filter *query,
                                pawl_timer_total *ret_total, pawl_error *err)
{
    memory *m = self;
    pawli_timer_mark after;
    pawl_status st = pawli_page_read_timer(&query->after, &after, err);

    if (st != PAWL_OK)
        return st;
    pthread_mutex_lock(&m->lock);
    *ret_total = (pawl_timer_total){
        count_in(&m->table.waiting, query, after) + count_in(&m->table.due, query, after), false};
    pthread_mutex_unlock(&m->lock);
    return PAWL_OK;
}

static pawl_status next_due(void *self, pawl_wall *ret_due, pawl_error *err)
{
    memory *m = self;
    const pawli_timer *first, *due;
    pawl_wall next = PAWL_TIME_UNSET;

    (void)err;
    pthread_mutex_lock(&m->lock);
    first = pawli_timer_heap_first(&m->table.waiting);
    due = pawli_timer_heap_first(&m->table.due);
    if (due) /* perhaps not the earliest timer, but it is due now */
        next = due->run_at;
    else if (first)
        next = first->run_at;
    pthread_mutex_unlock(&m->lock);
    *ret_due = next;
    return PAWL_OK;
}

/* ---- taking due timers ---- */

/* Takes the next timer that still applies; expired timers are finished on the way. */
static pawli_timer *take_one(pawli_timer_table *table, pawl_wall now)
{
    pawli_timer *timer;

    while ((timer = pawli_timer_heap_pop(&table->due))) {
        pawl_wall expiry = timer->message.expires_at;

        if (expiry.us == 0 || expiry.us > now.us)
            return timer;
        pawli_timer_table_finish(table, timer, PAWL_STATE_EXPIRED, now);
    }
    return NULL;
}

static pawl_status take_all(memory *m, size_t limit, pawli_timer **taken, pawl_messages *list,
                            pawl_error *err)
{
    pawl_wall now = read_clock(m);
    pawl_status st = PAWL_OK;
    size_t found = 0;

    pthread_mutex_lock(&m->lock);
    pawli_timer_table_advance(&m->table, now);
    while (st == PAWL_OK && found < limit && (taken[found] = take_one(&m->table, now))) {
        pawli_timer delivered = *taken[found++];
        delivered.state = PAWL_STATE_DONE;
        delivered.finished_at = now;
        st = memory_append(list, &delivered, now, true, err);
    }
    for (size_t i = 0; i < found; i++) {
        if (st == PAWL_OK)
            pawli_timer_table_finish(&m->table, taken[i], PAWL_STATE_DONE, now);
        else
            pawli_timer_heap_push(&m->table.due, taken[i]); /* on failure nothing was taken */
    }
    pthread_mutex_unlock(&m->lock);
    return st;
}

static pawl_status memory_take_due(void *self, int limit, pawl_messages **ret_list, pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;
    PAWLI_AUTO_FREE pawli_timer **taken = malloc((size_t)limit * sizeof(pawli_timer *));
    pawl_status st;

    if (!taken)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %d timers", limit);
    st = pawli_messages_new(&list, err);
    if (st == PAWL_OK)
        st = take_all(self, (size_t)limit, taken, list, err);
    if (st == PAWL_OK)
        *ret_list = pawl_messages_take(&list);
    return st;
}

/* ---- the strategy's interface ---- */

static void free_memory(void *self)
{
    memory *m = self;

    pawli_timer_table_done(&m->table);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static const pawl_strategy strategy = {
    .version = PAWL_STRATEGY_VERSION,
    .name = "memory",
    .schedule = memory_schedule,
    .cancel = memory_cancel,
    .get = memory_get,
    .list = memory_list,
    .count = memory_count,
    .next_due = next_due,
    .take_due = memory_take_due,
    .free = free_memory,
};

pawl_status pawl_scheduler_new_in_memory(const pawl_scheduler_memory_options *opts,
                                         pawl_scheduler **ret_scheduler, pawl_error *err)
{
    pawl_scheduler_memory_options options = PAWL_SCHEDULER_MEMORY_OPTIONS_INIT;
    pawl_status st = pawli_options_copy(&options, sizeof options, opts, err);

    if (st != PAWL_OK)
        return st;
    if (options.keep_finished < 0 || options.keep_finished > KEEP_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "keep_finished must be 0 to %d", KEEP_MAX);
    memory *m = calloc(1, sizeof *m);
    if (!m)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the scheduler");
    pthread_mutex_init(&m->lock, NULL);
    m->now = options.now;
    m->context = options.context;
    m->table.keep_finished = options.keep_finished;
    pawli_timer_table_init(&m->table);
    st = pawl_scheduler_new(&strategy, m, ret_scheduler, err);
    if (st != PAWL_OK)
        free_memory(m);
    return st;
}
