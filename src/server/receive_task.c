/* src/server/receive_task.c - a received message during its handler's call, and the response. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "fail.h"
#include "receiver_private.h"
#include "response.h"
#include "text.h"
#include "ack.h"

/* ---- the task passed to a handler ---- */

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
                          "the response has %zu bytes; the maximum is %zu (max_response_bytes)",
                          size, task->receiver->options.max_response_bytes);
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

/* ---- the response ---- */

#define ERROR_ROOM 4608

void pawli_response_done(pawli_response *response)
{
    free(response->body);
    *response = (pawli_response){0};
}

static void write_body(pawli_response *response, const pawli_ack_content *content)
{
    PAWLI_AUTO(pawli_ack) ack = NULL;
    const char *text;

    free(response->body);
    response->body = NULL;
    response->body_size = 0;
    if (pawli_ack_encode(content, &ack, NULL) != PAWL_OK)
        return;
    text = pawli_ack_text(ack, &response->body_size);
    response->body = malloc(response->body_size + 1);
    if (response->body)
        memcpy(response->body, text, response->body_size + 1);
    else
        response->body_size = 0;
}

void pawli_response_acknowledge(pawli_response *response, bool duplicate, const void *payload,
                                size_t size)
{
    pawli_ack_content content = PAWLI_ACK_CONTENT_INIT;

    content.acknowledged = true;
    content.duplicate = duplicate;
    content.payload = payload;
    content.payload_size = size;
    response->status = 200;
    response->duplicate = duplicate;
    write_body(response, &content);
    /* Without a body it would not be an acknowledgement; with an error the sender retries and
     * then gets it. */
    if (!response->body)
        response->status = 503;
}

void pawli_response_reject(pawli_response *response, int status, const char *format, ...)
{
    pawli_ack_content content = PAWLI_ACK_CONTENT_INIT;
    char error[ERROR_ROOM];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error, sizeof error, format, arguments);
    va_end(arguments);
    content.error = error;
    response->status = status;
    write_body(response, &content);
}
