/* src/worker/index.h - tasks by the message they are about. With the hand's lock held. */
#ifndef PAWLI_INDEX_H
#define PAWLI_INDEX_H

#include "task.h"

#define PAWLI_INDEX_SIZE 1024 /* a power of two */

/* Zero-initialise it. Chains through pawl_task.same_bucket. */
typedef struct pawli_index {
    pawl_task *buckets[PAWLI_INDEX_SIZE];
} pawli_index;

void pawli_index_add(pawli_index *index, pawl_task *task);
void pawli_index_remove(pawli_index *index, const pawl_task *task);
/* The next task about this message after `before` (NULL: the first), or NULL. */
pawl_task *pawli_index_next(const pawli_index *index, pawl_work_id id, const pawl_task *before);

#endif
