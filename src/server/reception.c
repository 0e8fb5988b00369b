/* src/server/reception.c - one message in a handler's hands. */
#include <stdatomic.h>
#include <string.h>

#include "fail.h"
#include "receiver_private.h"
#include "text.h"

const pawl_envelope *pawl_reception_envelope(const pawl_reception *reception)
{
    return reception->envelope;
}

pawl_store *pawl_reception_store(const pawl_reception *reception)
{
    return reception->receiver->store;
}

pawl_tx *pawl_reception_tx(const pawl_reception *reception)
{
    return pawl_arrival_tx(reception->arrival);
}

int pawl_reception_attempt(const pawl_reception *reception)
{
    return pawl_arrival_attempt(reception->arrival);
}

int64_t pawl_reception_fence(const pawl_reception *reception)
{
    return pawl_arrival_fence(reception->arrival);
}

const char *pawl_reception_key(const pawl_reception *reception)
{
    return pawl_arrival_key(reception->arrival);
}

bool pawl_reception_cancelled(const pawl_reception *reception)
{
    return atomic_load(&reception->ward.cancelled);
}

int pawl_reception_cancel_fd(const pawl_reception *reception)
{
    return reception->ward.cancel_fd;
}

pawl_status pawl_reception_respond(pawl_reception *reception, const void *payload, size_t size,
                                   pawl_error *err)
{
    pawli_buffer copy = {0};

    if (!payload && size > 0)
        return pawli_fail(err, PAWL_E_INVALID, "payload must not be NULL");
    if (size > reception->receiver->options.max_response_bytes) {
        reception->too_large = true;
        return pawli_fail(err, PAWL_E_TOO_LARGE,
                          "the response has %zu bytes; it may have %zu (max_response_bytes)", size,
                          reception->receiver->options.max_response_bytes);
    }
    pawli_buffer_append(&copy, payload, size);
    if (copy.failed)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the response");
    pawli_buffer_done(&reception->response);
    reception->response = copy;
    reception->has_response = true;
    return PAWL_OK;
}

void pawl_reception_explain(pawl_reception *reception, const char *error)
{
    pawli_utf8_clean(error ? error : "", reception->error, sizeof reception->error);
}
