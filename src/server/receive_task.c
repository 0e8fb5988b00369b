/* src/server/receive_task.c - one message in a handler's hands. */
#include <stdatomic.h>
#include <string.h>

#include "fail.h"
#include "receiver_private.h"
#include "text.h"

const pawl_envelope *pawl_receive_task_envelope(const pawl_receive_task *task)
{
    return task->envelope;
}

pawl_store *pawl_receive_task_store(const pawl_receive_task *task)
{
    return task->receiver->store;
}

pawl_tx *pawl_receive_task_tx(const pawl_receive_task *task)
{
    return pawl_inbox_task_tx(task->inbox_task);
}

int pawl_receive_task_attempt(const pawl_receive_task *task)
{
    return pawl_inbox_task_attempt(task->inbox_task);
}

int64_t pawl_receive_task_fence(const pawl_receive_task *task)
{
    return pawl_inbox_task_fence(task->inbox_task);
}

const char *pawl_receive_task_key(const pawl_receive_task *task)
{
    return pawl_inbox_task_key(task->inbox_task);
}

bool pawl_receive_task_cancelled(const pawl_receive_task *task)
{
    return atomic_load(&task->call.cancelled);
}

int pawl_receive_task_cancel_fd(const pawl_receive_task *task)
{
    return task->call.cancel_fd;
}

pawl_status pawl_receive_task_respond(pawl_receive_task *task, const void *payload, size_t size,
                                      pawl_error *err)
{
    pawli_buffer copy = {0};

    if (!payload && size > 0)
        return pawli_fail(err, PAWL_E_INVALID, "payload must not be NULL");
    if (size > task->receiver->options.max_response_bytes) {
        task->too_large = true;
        return pawli_fail(err, PAWL_E_TOO_LARGE,
                          "the response has %zu bytes; it may have %zu (max_response_bytes)", size,
                          task->receiver->options.max_response_bytes);
    }
    pawli_buffer_append(&copy, payload, size);
    if (copy.failed)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the response");
    pawli_buffer_done(&task->response);
    task->response = copy;
    task->has_response = true;
    return PAWL_OK;
}

void pawl_receive_task_set_error(pawl_receive_task *task, const char *error)
{
    pawli_utf8_clean(error ? error : "", task->error, sizeof task->error);
}
