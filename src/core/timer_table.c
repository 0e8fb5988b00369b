/* src/core/timer_table.c - timers in memory, by id and by due time. */
#include "timer_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "message_spec.h"
#include "timer_heap.h"

/* ---- the table: all timers by id, by due time, and finished ones by age ---- */

#define BUCKETS_AT_FIRST 1024

void pawli_timer_table_init(pawli_timer_table *table)
{
    table->waiting.before = pawli_timer_earlier;
    table->due.before = pawli_timer_more_urgent;
}

void pawli_timer_table_done(pawli_timer_table *table)
{
    for (size_t i = 0; i < table->bucket_count; i++) {
        pawli_timer *next;
        for (pawli_timer *timer = table->buckets[i]; timer; timer = next) {
            next = timer->next_in_bucket;
            free(timer);
        }
    }
    free(table->buckets);
    pawli_timer_heap_done(&table->waiting);
    pawli_timer_heap_done(&table->due);
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* Copies the string behind the timer and updates `*text`; NULL stays NULL. */
static void move_in(char **free_bytes, const char **text)
{
    size_t size = text_size(*text);

    if (!*text)
        return;
    memcpy(*free_bytes, *text, size);
    *text = *free_bytes;
    *free_bytes += size;
}

static size_t tags_size(const pawl_message_spec *message)
{
    size_t size = 0;

    for (size_t i = 0; i < message->tag_count; i++)
        size += text_size(message->tags[i]);
    return size;
}

/* The pointers go to `tags`. */
static void move_tags_in(char **free_bytes, const char **tags, pawl_message_spec *message)
{
    for (size_t i = 0; i < message->tag_count; i++) {
        tags[i] = message->tags[i];
        move_in(free_bytes, &tags[i]);
    }
    message->tags = tags;
}

pawli_timer *pawli_timer_copy(const pawl_message_spec *message, pawl_wall now)
{
    size_t size = text_size(message->topic) + text_size(message->destination) +
                  text_size(message->headers) + text_size(message->correlation_id) +
                  text_size(message->ordering_key) + text_size(message->unique_key) +
                  tags_size(message) + message->payload_size;
    size_t pointers = message->tag_count * sizeof *message->tags;
    pawli_timer *timer = malloc(sizeof *timer + pointers + size);

    if (!timer)
        return NULL;
    char *free_bytes = (char *)(timer + 1) + pointers;
    *timer = (pawli_timer){.message = *message, .created_at = now, .state = PAWL_STATE_READY};
    move_in(&free_bytes, &timer->message.topic);
    move_in(&free_bytes, &timer->message.destination);
    move_in(&free_bytes, &timer->message.headers);
    move_in(&free_bytes, &timer->message.correlation_id);
    move_in(&free_bytes, &timer->message.ordering_key);
    move_in(&free_bytes, &timer->message.unique_key);
    move_tags_in(&free_bytes, (const char **)(timer + 1), &timer->message);
    memcpy(free_bytes, message->payload, message->payload_size);
    timer->message.payload = free_bytes;
    timer->due_at = pawli_message_spec_due(message, now);
    timer->run_at = timer->due_at.us > now.us ? timer->due_at : now;
    timer->message.expires_at = pawli_message_spec_expiry(message, timer->run_at);
    return timer;
}

/* Ids may be random, sorted by time or numbered by the caller, so all bits are mixed. */
static size_t timer_table_bucket_of(const pawli_timer_table *table, pawl_uuid id)
{
    uint64_t halves[2];

    memcpy(halves, id.bytes, sizeof halves);
    uint64_t mixed = (halves[0] ^ (halves[1] << 31 | halves[1] >> 33)) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9u;
    return (size_t)(mixed >> 32) & (table->bucket_count - 1);
}

static void link_in(pawli_timer_table *table, pawli_timer *timer)
{
    pawli_timer **bucket = &table->buckets[timer_table_bucket_of(table, timer->message.id)];

    timer->next_in_bucket = *bucket;
    *bucket = timer;
}

static bool grow_buckets(pawli_timer_table *table, size_t count)
{
    size_t bucket_count = table->bucket_count ? table->bucket_count : BUCKETS_AT_FIRST;
    pawli_timer **old = table->buckets;
    size_t old_count = table->bucket_count;

    if (count <= table->bucket_count)
        return true;
    while (bucket_count < count)
        bucket_count *= 2;
    pawli_timer **buckets = calloc(bucket_count, sizeof(pawli_timer *));
    if (!buckets)
        return false;
    table->buckets = buckets;
    table->bucket_count = bucket_count;
    for (size_t i = 0; i < old_count; i++) {
        pawli_timer *next;
        for (pawli_timer *timer = old[i]; timer; timer = next) {
            next = timer->next_in_bucket;
            link_in(table, timer);
        }
    }
    free(old);
    return true;
}

bool pawli_timer_table_reserve(pawli_timer_table *table, size_t more)
{
    size_t unfinished = table->waiting.count + table->due.count + more;

    /* Reserves for the case that all timers become due, when nothing may fail any more. */
    return grow_buckets(table, table->count + more) &&
           pawli_timer_heap_reserve(&table->waiting, unfinished) &&
           pawli_timer_heap_reserve(&table->due, unfinished);
}

pawli_timer *pawli_timer_table_find(const pawli_timer_table *table, pawl_uuid id)
{
    if (table->bucket_count == 0)
        return NULL;
    pawli_timer *timer = table->buckets[timer_table_bucket_of(table, id)];
    while (timer && !pawl_uuid_equal(timer->message.id, id))
        timer = timer->next_in_bucket;
    return timer;
}

void pawli_timer_table_add(pawli_timer_table *table, pawli_timer *take_timer)
{
    take_timer->work_id.value = ++table->last_work_id;
    link_in(table, take_timer);
    table->count++;
    pawli_timer_heap_push(&table->waiting, take_timer);
}

void pawli_timer_table_advance(pawli_timer_table *table, pawl_wall now)
{
    pawli_timer *first;

    while ((first = pawli_timer_heap_first(&table->waiting)) && first->run_at.us <= now.us) {
        pawli_timer_heap_remove(first);
        pawli_timer_heap_push(&table->due, first);
    }
}

static void forget_oldest(pawli_timer_table *table)
{
    pawli_timer *oldest = table->oldest_finished;
    pawli_timer **link = &table->buckets[timer_table_bucket_of(table, oldest->message.id)];

    while (*link != oldest)
        link = &(*link)->next_in_bucket;
    *link = oldest->next_in_bucket;
    table->oldest_finished = oldest->next_finished;
    if (!table->oldest_finished)
        table->latest_finished = NULL;
    table->finished_count--;
    table->count--;
    free(oldest);
}

void pawli_timer_table_finish(pawli_timer_table *table, pawli_timer *timer, pawl_state state,
                              pawl_wall now)
{
    timer->state = state;
    timer->finished_at = now;
    timer->next_finished = NULL;
    if (table->latest_finished)
        table->latest_finished->next_finished = timer;
    else
        table->oldest_finished = timer;
    table->latest_finished = timer;
    table->finished_count++;
    if (table->finished_count > table->keep_finished)
        forget_oldest(table);
}

/* ---- binary heap of timers that store their positions, so that any can be removed ---- */

bool pawli_timer_earlier(const pawli_timer *a, const pawli_timer *b)
{
    if (a->run_at.us != b->run_at.us)
        return a->run_at.us < b->run_at.us;
    return a->work_id.value < b->work_id.value;
}

bool pawli_timer_later(const pawli_timer *a, const pawli_timer *b)
{
    return pawli_timer_earlier(b, a);
}

bool pawli_timer_more_urgent(const pawli_timer *a, const pawli_timer *b)
{
    if (a->message.priority != b->message.priority)
        return a->message.priority > b->message.priority;
    return pawli_timer_earlier(a, b);
}

void pawli_timer_heap_done(pawli_timer_heap *heap)
{
    free(heap->items);
    heap->items = NULL;
    heap->count = heap->capacity = 0;
}

bool pawli_timer_heap_reserve(pawli_timer_heap *heap, size_t count)
{
    size_t capacity = heap->capacity ? heap->capacity : 64;

    if (count <= heap->capacity)
        return true;
    while (capacity < count)
        capacity *= 2;
    pawli_timer **items = realloc(heap->items, capacity * sizeof(pawli_timer *));
    if (!items)
        return false;
    heap->items = items;
    heap->capacity = capacity;
    return true;
}

static void timer_heap_put(pawli_timer_heap *heap, size_t place, pawli_timer *timer)
{
    heap->items[place] = timer;
    if (heap->loose)
        return;
    timer->heap = heap;
    timer->place = place;
}

/* Moves up from `place` and returns the position for the timer. */
static size_t timer_heap_rise(pawli_timer_heap *heap, size_t place, const pawli_timer *timer)
{
    while (place > 0 && heap->before(timer, heap->items[(place - 1) / 2])) {
        timer_heap_put(heap, place, heap->items[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    return place;
}

/* The same, moving down. */
static size_t timer_heap_sink(pawli_timer_heap *heap, size_t place, const pawli_timer *timer)
{
    for (;;) {
        size_t child = 2 * place + 1;

        if (child >= heap->count)
            return place;
        if (child + 1 < heap->count && heap->before(heap->items[child + 1], heap->items[child]))
            child++;
        if (!heap->before(heap->items[child], timer))
            return place;
        timer_heap_put(heap, place, heap->items[child]);
        place = child;
    }
}

void pawli_timer_heap_push(pawli_timer_heap *heap, pawli_timer *timer)
{
    heap->count++;
    timer_heap_put(heap, timer_heap_rise(heap, heap->count - 1, timer), timer);
}

pawli_timer *pawli_timer_heap_first(const pawli_timer_heap *heap)
{
    return heap->count > 0 ? heap->items[0] : NULL;
}

/* Moves the last timer into the gap, then up or down to its position. */
static void close_gap(pawli_timer_heap *heap, size_t gap)
{
    pawli_timer *last = heap->items[--heap->count];

    if (gap == heap->count)
        return;
    size_t place = timer_heap_rise(heap, gap, last);
    if (place == gap)
        place = timer_heap_sink(heap, gap, last);
    timer_heap_put(heap, place, last);
}

pawli_timer *pawli_timer_heap_pop(pawli_timer_heap *heap)
{
    pawli_timer *first = pawli_timer_heap_first(heap);

    if (!first)
        return NULL;
    close_gap(heap, 0);
    if (!heap->loose)
        first->heap = NULL;
    return first;
}

void pawli_timer_heap_remove(pawli_timer *timer)
{
    assert(timer->heap);
    close_gap(timer->heap, timer->place);
    timer->heap = NULL;
}
