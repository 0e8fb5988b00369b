/* src/server/enqueue_handler.c - what has come goes into the outbox, in the transaction that
 * remembers it.
 */
#include <stdlib.h>
#include <string.h>

#include <pawl/outbox.h>

#include "fail.h"
#include "options.h"
#include "receiver_private.h"
#include "scope.h"

typedef struct target {
    char *topic;       /* NULL: the message's own */
    char *destination; /* NULL: a local handler */
} target;

static void target_free(void *context)
{
    target *to = context;

    if (!to)
        return;
    free(to->topic);
    free(to->destination);
    free(to);
}

static pawl_result enqueue_handler_enqueue(pawl_receive_task *task, void *context)
{
    const target *to = context;
    const pawl_envelope *envelope = pawl_receive_task_envelope(task);
    const char *correlation = pawl_envelope_correlation_id(envelope);
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    message.topic = to->topic ? to->topic : pawl_envelope_endpoint(envelope);
    message.destination = to->destination;
    message.payload = pawl_envelope_payload(envelope, &message.payload_size);
    message.type = pawl_envelope_type(envelope);
    message.headers = pawl_envelope_headers(envelope);
    message.correlation_id = correlation ? correlation : pawl_envelope_id(envelope);
    if (pawl_tx_enqueue(pawl_receive_task_tx(task), &message, NULL, &err) == PAWL_OK)
        return PAWL_DONE;
    pawl_receive_task_set_error(task, err.message);
    return err.status == PAWL_E_INVALID || err.status == PAWL_E_TOO_LARGE ? PAWL_FAIL : PAWL_RETRY;
}

static bool enqueue_handler_copy(const char *text, char **ret_copy)
{
    *ret_copy = text ? strdup(text) : NULL;
    return !text || *ret_copy;
}

pawl_status pawl_receiver_enqueue(pawl_receiver *receiver, const char *topic, const char *to_topic,
                                  const char *destination, const pawl_receive_options *opts,
                                  pawl_error *err)
{
    pawl_receive_options options = PAWL_RECEIVE_OPTIONS_INIT;
    target *to;
    pawl_status st;

    st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st != PAWL_OK)
        return st;
    options.free = target_free;
    to = calloc(1, sizeof *to);
    if (!to || !enqueue_handler_copy(to_topic, &to->topic) ||
        !enqueue_handler_copy(destination, &to->destination))
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for the handler");
    else
        st = pawl_receiver_handle(receiver, topic, PAWL_RECEIVE_ATOMIC, enqueue_handler_enqueue, to,
                                  &options, err);
    if (st != PAWL_OK)
        target_free(to);
    return st;
}
