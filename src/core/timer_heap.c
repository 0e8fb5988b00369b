/* src/core/timer_heap.c - a binary heap of timers that know their places, so that any can leave. */
#include "timer_heap.h"

#include <stdlib.h>

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

/* The place that is free for the timer, going up from `place`. */
static size_t timer_heap_rise(pawli_timer_heap *heap, size_t place, const pawli_timer *timer)
{
    while (place > 0 && heap->before(timer, heap->items[(place - 1) / 2])) {
        timer_heap_put(heap, place, heap->items[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    return place;
}

/* The same, going down. */
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

/* The last one fills the gap, and goes to where it belongs from there. */
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
    close_gap(timer->heap, timer->place);
    timer->heap = NULL;
}
