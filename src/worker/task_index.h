/* src/worker/task_index.h - hash index of tasks by message. With the lock of pawli_inflight held.
 */
#ifndef PAWLI_TASK_INDEX_H
#define PAWLI_TASK_INDEX_H

#include "task.h"

#define PAWLI_TASK_INDEX_SIZE 1024 /* a power of two */

/* Zero-initialize it. Chains through pawl_task.same_bucket. */
typedef struct pawli_task_index {
    pawl_task *buckets[PAWLI_TASK_INDEX_SIZE];
} pawli_task_index;

void pawli_task_index_add(pawli_task_index *index, pawl_task *task);
void pawli_task_index_remove(pawli_task_index *index, const pawl_task *task);
/* The next task of this message after `before` (NULL: the first), or NULL. */
pawl_task *pawli_task_index_next(const pawli_task_index *index, pawl_work_id id,
                                 const pawl_task *before);

#endif
