/* tests/fuzz/ack_fuzz.c - any bytes as an HTTP response: it means something, and never a success
 * that never assigned. */
#include <stdlib.h>
#include <string.h>

#include <pawl/sys/transport.h>

#include "fuzz.h"
#include "ack.h"

/* The first byte chooses the status, the second the length of Retry-After, then that and the body.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 204, 302, 400, 409, 429, 500, 503};
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;
    char room[PAWL_SEND_ERROR_SIZE];
    pawli_ack *ack = NULL;

    if (size < 2)
        return 0;
    int status = statuses[data[0] % 8];
    size_t length = data[1] % 40;
    if (length > size - 2)
        length = size - 2;
    char retry_after[41] = "";
    memcpy(retry_after, data + 2, length);
    pawl_send_report_of_http(status, retry_after, data + 2 + length, size - 2 - length, room,
                             &outcome, &ack);
    bool success = outcome.sent <= PAWL_SEND_DUPLICATE;
    if (success && (status >= 300 || !ack ||
                    (!pawli_ack_acknowledged(ack) && !pawli_ack_duplicate(ack)) || outcome.error))
        abort();
    if (!success && (!outcome.error || strlen(outcome.error) < 5 || outcome.payload))
        abort();
    if (outcome.retry_after_ms < -1 || outcome.retry_after_ms > 86400000)
        abort();
    pawli_ack_free(ack);
    return 0;
}
