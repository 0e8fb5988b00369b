/*
 * src/db/group.h - group commit: writers of one process that wait for the same lock share a commit.
 *
 * The first caller leads: it takes the one writing connection, begins, carries out what is waiting
 * behind it, commits once, and hands the lead on. There is no hidden thread.
 * docs/internals/group-commit.md tells the whole story.
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
void pawli_group_free(pawli_group *group); /* NULL is fine; nobody may be waiting */

/*
 * Carry out a writing op, perhaps together with those of other threads. Another thread may run the
 * op's callbacks, while this one waits. `turn` as for pawli_pool_acquire().
 */
pawl_status pawli_group_run(pawli_group *group, const pawli_op *op, uint64_t turn,
                            pawl_mono deadline, pawl_error *err);

/*
 * A tenant has the turn for itself, for a transaction over several calls. Enter waits for the turn
 * like an op that writes; settle says who has it and until when, leave hands it on: to renewals and
 * whatever else is urgent first. After `until`, one of those that wait takes the turn back with
 * evict(), if may_evict() agrees.
 */
typedef struct pawli_tenant {
    pawl_mono until;
    /* Any thread, with the group's lock held: does not wait. NULL: never. */
    bool (*may_evict)(struct pawli_tenant *tenant);
    /* The same thread, next, without the lock. The tenant may be gone when it returns. */
    void (*evict)(struct pawli_tenant *tenant);
} pawli_tenant;
pawl_status pawli_group_enter(pawli_group *group, uint64_t turn, pawl_mono deadline,
                              pawl_error *err);
void pawli_group_settle(pawli_group *group, pawli_tenant *tenant);
/* Nothing happens if the tenant was evicted. NULL: before settling. */
void pawli_group_leave(pawli_group *group, pawli_tenant *tenant);

/* How many callers wait behind the leader: for tests, which have no other way to know. */
size_t pawli_group_waiting(pawli_group *group);

/* After pawli_pool_interrupt(): those that wait look again. */
void pawli_group_interrupt(pawli_group *group);

#endif
