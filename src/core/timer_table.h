/* src/core/timer_table.h - the in-memory timer table: by id, by due time, and finished ones by age.
 */
#ifndef PAWLI_TIMER_TABLE_H
#define PAWLI_TIMER_TABLE_H

#include <pawl/error.h>

#include "timer_heap.h"

/*
 * Zero it except for `keep_finished`, then call pawli_timer_table_init(). The caller does the
 * locking.
 */
typedef struct pawli_timer_table {
    pawli_timer_heap waiting; /* sorted by due time */
    pawli_timer_heap due;     /* known to be due, most urgent first */
    pawli_timer **buckets;    /* hash table by message id */
    size_t bucket_count;      /* a power of two, or 0 */
    size_t count;             /* of all timers in the hash table */
    pawli_timer *oldest_finished;
    pawli_timer *latest_finished;
    int64_t finished_count;
    int64_t keep_finished;
    int64_t last_work_id;
} pawli_timer_table;

void pawli_timer_table_init(pawli_timer_table *table);
void pawli_timer_table_done(pawli_timer_table *table);

/*
 * Creates a timer with a copy of everything in `message`; NULL when memory ran out. Needs no lock.
 */
pawli_timer *pawli_timer_copy(const pawl_message_spec *message, pawl_wall now);

/* Reserves room for `more` timers; false when memory ran out. */
bool pawli_timer_table_reserve(pawli_timer_table *table, size_t more);
pawli_timer *pawli_timer_table_find(const pawli_timer_table *table, pawl_uuid id);
/* Adds the timer and takes ownership of it. There must be room, and its id must be new. */
void pawli_timer_table_add(pawli_timer_table *table, pawli_timer *take_timer);
/* Moves timers that are due at `now` to `due`. */
void pawli_timer_table_advance(pawli_timer_table *table, pawl_wall now);
/* Finishes a timer that is in no heap any more. The oldest finished one may be dropped for it. */
void pawli_timer_table_finish(pawli_timer_table *table, pawli_timer *timer, pawl_state state,
                              pawl_wall now);

#endif
