/* src/worker/task_index.c - tasks by the message they are about. */
#include "task_index.h"

/* Ids are given out one after the other: as they are, they spread evenly. */
static size_t task_index_bucket_of(pawl_work_id id)
{
    return (size_t)id.value & (PAWLI_TASK_INDEX_SIZE - 1);
}

void pawli_task_index_add(pawli_task_index *index, pawl_task *task)
{
    pawl_task **bucket = &index->buckets[task_index_bucket_of(task->receipt.id)];

    task->same_bucket = *bucket;
    *bucket = task;
}

void pawli_task_index_remove(pawli_task_index *index, const pawl_task *task)
{
    pawl_task **at = &index->buckets[task_index_bucket_of(task->receipt.id)];

    while (*at && *at != task)
        at = &(*at)->same_bucket;
    if (*at)
        *at = task->same_bucket;
}

pawl_task *pawli_task_index_next(const pawli_task_index *index, pawl_work_id id,
                                 const pawl_task *before)
{
    pawl_task *task = before ? before->same_bucket : index->buckets[task_index_bucket_of(id)];

    while (task && task->receipt.id.value != id.value)
        task = task->same_bucket;
    return task;
}
