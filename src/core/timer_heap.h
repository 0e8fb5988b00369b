/* src/core/timer_heap.h - a binary heap of timers that store their positions, so that any can be
 * removed.
 */
#ifndef PAWLI_TIMER_HEAP_H
#define PAWLI_TIMER_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/message.h>

/* A timer in memory; the strings of `message` follow it in the same block. */
typedef struct pawli_timer {
    pawl_message_spec message;
    pawl_work_id work_id;
    pawl_wall created_at;
    pawl_wall due_at; /* as requested */
    pawl_wall run_at; /* the same, or `created_at` if that was later */
    pawl_wall finished_at;
    pawl_state state;
    struct pawli_timer_heap *heap; /* the heap that contains it; NULL: none */
    size_t place;
    struct pawli_timer *next_in_bucket;
    struct pawli_timer *next_finished;
} pawli_timer;

typedef bool (*pawli_timer_order)(const pawli_timer *a, const pawli_timer *b);

/* Orders by due time, then by work id. */
bool pawli_timer_earlier(const pawli_timer *a, const pawli_timer *b);
/* The reverse order. */
bool pawli_timer_later(const pawli_timer *a, const pawli_timer *b);
/* Higher priority first, then as pawli_timer_earlier(). */
bool pawli_timer_more_urgent(const pawli_timer *a, const pawli_timer *b);

/* Set `before`, zero the rest. The heap does not own the timers. */
typedef struct pawli_timer_heap {
    pawli_timer_order before;
    bool loose; /* the timers' positions belong to another heap: only the first can be removed */
    pawli_timer **items;
    size_t count;
    size_t capacity;
} pawli_timer_heap;

void pawli_timer_heap_done(pawli_timer_heap *heap);
/* Reserves room for `count` in total; false when memory ran out. */
bool pawli_timer_heap_reserve(pawli_timer_heap *heap, size_t count);
/* There must be room. */
void pawli_timer_heap_push(pawli_timer_heap *heap, pawli_timer *timer);
/* NULL if it is empty. */
pawli_timer *pawli_timer_heap_first(const pawli_timer_heap *heap);
pawli_timer *pawli_timer_heap_pop(pawli_timer_heap *heap);
/* Removes it from the heap that contains it. */
void pawli_timer_heap_remove(pawli_timer *timer);

#endif
