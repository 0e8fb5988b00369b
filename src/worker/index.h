/* src/worker/index.h - hash index of tasks by message. With the lock of pawli_hand held. */
#ifndef PAWLI_INDEX_H
#define PAWLI_INDEX_H

#include "task.h"

#define PAWLI_INDEX_SIZE 1024 /* a power of two */

/* Zero-initialize it. Chains through pawl_task.same_bucket. */
typedef struct pawli_index {
    pawl_task *buckets[PAWLI_INDEX_SIZE];
} pawli_index;

void pawli_index_add(pawli_index *index, pawl_task *task);
void pawli_index_remove(pawli_index *index, const pawl_task *task);
/* The next task of this message after `before` (NULL: the first), or NULL. */
pawl_task *pawli_index_next(const pawli_index *index, pawl_work_id id, const pawl_task *before);

#endif
