/* src/core/timer_book.c - all timers in memory: by id, by due time, and the finished by age. */
#include "timer_book.h"

#include <stdlib.h>
#include <string.h>

#include "outgoing.h"

#define BUCKETS_AT_FIRST 1024

void pawli_timer_book_init(pawli_timer_book *book)
{
    book->waiting.before = pawli_timer_earlier;
    book->due.before = pawli_timer_more_urgent;
}

void pawli_timer_book_done(pawli_timer_book *book)
{
    for (size_t i = 0; i < book->bucket_count; i++) {
        pawli_timer *next;
        for (pawli_timer *timer = book->buckets[i]; timer; timer = next) {
            next = timer->next_in_bucket;
            free(timer);
        }
    }
    free(book->buckets);
    pawli_timer_heap_done(&book->waiting);
    pawli_timer_heap_done(&book->due);
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* Move what `*text` points to behind the timer; NULL stays NULL. */
static void move_in(char **free_bytes, const char **text)
{
    size_t size = text_size(*text);

    if (!*text)
        return;
    memcpy(*free_bytes, *text, size);
    *text = *free_bytes;
    *free_bytes += size;
}

pawli_timer *pawli_timer_copy(const pawl_outgoing *message, pawl_wall now)
{
    size_t size = text_size(message->topic) + text_size(message->destination) +
                  text_size(message->headers) + text_size(message->correlation_id) +
                  message->payload_size;
    pawli_timer *timer = malloc(sizeof *timer + size);

    if (!timer)
        return NULL;
    char *free_bytes = (char *)(timer + 1);
    *timer = (pawli_timer){.message = *message, .created_at = now, .state = PAWL_STATE_READY};
    move_in(&free_bytes, &timer->message.topic);
    move_in(&free_bytes, &timer->message.destination);
    move_in(&free_bytes, &timer->message.headers);
    move_in(&free_bytes, &timer->message.correlation_id);
    memcpy(free_bytes, message->payload, message->payload_size);
    timer->message.payload = free_bytes;
    timer->due_at = pawli_outgoing_due(message, now);
    timer->run_at = timer->due_at.us > now.us ? timer->due_at : now;
    timer->message.expires_at = pawli_outgoing_expiry(message, timer->run_at);
    return timer;
}

/* Ids may be random, or sorted by time, or a caller's own numbers: all of it is mixed. */
static size_t bucket_of(const pawli_timer_book *book, pawl_message_id id)
{
    uint64_t halves[2];

    memcpy(halves, id.bytes, sizeof halves);
    uint64_t mixed = (halves[0] ^ (halves[1] << 31 | halves[1] >> 33)) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9u;
    return (size_t)(mixed >> 32) & (book->bucket_count - 1);
}

static void link_in(pawli_timer_book *book, pawli_timer *timer)
{
    pawli_timer **bucket = &book->buckets[bucket_of(book, timer->message.id)];

    timer->next_in_bucket = *bucket;
    *bucket = timer;
}

static bool grow_buckets(pawli_timer_book *book, size_t count)
{
    size_t bucket_count = book->bucket_count ? book->bucket_count : BUCKETS_AT_FIRST;
    pawli_timer **old = book->buckets;
    size_t old_count = book->bucket_count;

    if (count <= book->bucket_count)
        return true;
    while (bucket_count < count)
        bucket_count *= 2;
    pawli_timer **buckets = calloc(bucket_count, sizeof(pawli_timer *));
    if (!buckets)
        return false;
    book->buckets = buckets;
    book->bucket_count = bucket_count;
    for (size_t i = 0; i < old_count; i++) {
        pawli_timer *next;
        for (pawli_timer *timer = old[i]; timer; timer = next) {
            next = timer->next_in_bucket;
            link_in(book, timer);
        }
    }
    free(old);
    return true;
}

bool pawli_timer_book_reserve(pawli_timer_book *book, size_t more)
{
    size_t unfinished = book->waiting.count + book->due.count + more;

    /* All of them may become due, and then there must be nothing left to fail. */
    return grow_buckets(book, book->count + more) &&
           pawli_timer_heap_reserve(&book->waiting, unfinished) &&
           pawli_timer_heap_reserve(&book->due, unfinished);
}

pawli_timer *pawli_timer_book_find(const pawli_timer_book *book, pawl_message_id id)
{
    if (book->bucket_count == 0)
        return NULL;
    pawli_timer *timer = book->buckets[bucket_of(book, id)];
    while (timer && !pawl_message_id_equal(timer->message.id, id))
        timer = timer->next_in_bucket;
    return timer;
}

void pawli_timer_book_add(pawli_timer_book *book, pawli_timer *take_timer)
{
    take_timer->work_id.value = ++book->last_work_id;
    link_in(book, take_timer);
    book->count++;
    pawli_timer_heap_push(&book->waiting, take_timer);
}

void pawli_timer_book_turn(pawli_timer_book *book, pawl_wall now)
{
    pawli_timer *first;

    while ((first = pawli_timer_heap_first(&book->waiting)) && first->run_at.us <= now.us) {
        pawli_timer_heap_remove(first);
        pawli_timer_heap_push(&book->due, first);
    }
}

static void forget_oldest(pawli_timer_book *book)
{
    pawli_timer *oldest = book->oldest_finished;
    pawli_timer **link = &book->buckets[bucket_of(book, oldest->message.id)];

    while (*link != oldest)
        link = &(*link)->next_in_bucket;
    *link = oldest->next_in_bucket;
    book->oldest_finished = oldest->next_finished;
    if (!book->oldest_finished)
        book->latest_finished = NULL;
    book->finished_count--;
    book->count--;
    free(oldest);
}

void pawli_timer_book_finish(pawli_timer_book *book, pawli_timer *timer, pawl_state state,
                             pawl_wall now)
{
    timer->state = state;
    timer->finished_at = now;
    timer->next_finished = NULL;
    if (book->latest_finished)
        book->latest_finished->next_finished = timer;
    else
        book->oldest_finished = timer;
    book->latest_finished = timer;
    book->finished_count++;
    if (book->finished_count > book->keep_finished)
        forget_oldest(book);
}
