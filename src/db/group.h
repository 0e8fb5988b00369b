/*
 * src/db/group.h - group commit: writers of one process that wait for the write lock share a
 * commit.
 *
 * The first caller is the leader: it takes the one writing connection, begins, runs the ops that
 * wait behind it, commits once, and passes the lead on. There is no background thread. See
 * docs/internals/group-commit.md.
 */
#ifndef PAWLI_GROUP_H
#define PAWLI_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>

#include "op.h"
#include "pool.h"

typedef struct pawli_group pawli_group;

/* `writers` is borrowed and has one connection. */
pawl_status pawli_group_new(pawli_pool *writers, pawli_group **ret_group, pawl_error *err);
void pawli_group_free(pawli_group *group); /* NULL is allowed; no call may be waiting */

/*
 * Runs a writing op, possibly together with those of other threads. Another thread may run the op's
 * callbacks while this one waits. `interrupts_seen` is as for pawli_pool_acquire().
 */
pawl_status pawli_group_run(pawli_group *group, const pawli_op *op, uint64_t interrupts_seen,
                            pawl_mono deadline, pawl_error *err);

/*
 * An exclusive writer: has the write lock for itself, for a transaction over several calls. Enter
 * waits for the lock like a writing op; grant records the owner and its time limit; leave passes
 * the lock on, to renewals and other urgent ops first. After `until`, a waiting thread takes the
 * lock back with roll_back_late(), if may_roll_back() returns true.
 */
typedef struct pawli_exclusive_writer {
    pawl_mono until;
    /* Any thread, with the group's lock held: must not wait. NULL: never. */
    bool (*may_roll_back)(struct pawli_exclusive_writer *writer);
    /* Called next by the same thread, without the lock. The writer may be freed when it returns. */
    void (*roll_back_late)(struct pawli_exclusive_writer *writer);
} pawli_exclusive_writer;
pawl_status pawli_group_enter(pawli_group *group, uint64_t interrupts_seen, pawl_mono deadline,
                              pawl_error *err);
void pawli_group_grant(pawli_group *group, pawli_exclusive_writer *writer);
/* No-op if the writer was rolled back. NULL: before grant. */
void pawli_group_leave(pawli_group *group, pawli_exclusive_writer *writer);

/* The number of callers that wait behind the leader; for tests, which have no other way to know. */
size_t pawli_group_waiting(pawli_group *group);

/* Call it after pawli_pool_interrupt(): waiting callers check again. */
void pawli_group_interrupt(pawli_group *group);

#endif
