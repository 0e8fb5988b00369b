/* src/transport/http/outcome.c - what an HTTP answer means for the message. */
#include <stdio.h>
#include <string.h>

#include <pawl/ack.h>
#include <pawl/sys/transport.h>

#include "text.h"
#include "timestamp.h"
#include "platform.h"

const char *pawl_send_result_name(pawl_send_result sent)
{
    static const char *const names[] = {"acknowledged", "duplicate", "refused", "retry",
                                        "cancelled"};

    return (unsigned)sent < sizeof names / sizeof names[0] ? names[sent] : "unknown";
}

/* Codes of 4xx that say "later" or "again". */
static bool is_temporary(int status)
{
    return status == 408 || status == 409 || status == 425 || status == 429;
}

/* One line, cut to the room, of a text of any origin. */
static void outcome_explain(char *room, int status, const char *hint, const char *said)
{
    char line[PAWL_SEND_ERROR_SIZE];

    snprintf(line, sizeof line, "HTTP %d%s%s%s%s", status, hint ? ": " : "", hint ? hint : "",
             said && *said ? ": " : "", said ? said : "");
    pawli_utf8_clean(line, room, PAWL_SEND_ERROR_SIZE);
    for (char *at = room; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
}

static void accept_ack(int status, const pawl_ack *ack, char *room, pawl_send_report *outcome)
{
    if (!ack) {
        outcome_explain(
            room, status,
            "the answer is not an acknowledgement, so nobody knows whether it was processed", NULL);
        return;
    }
    if (!pawl_ack_acknowledged(ack) && !pawl_ack_duplicate(ack)) {
        outcome_explain(room, status, "not acknowledged", pawl_ack_error(ack));
        return;
    }
    outcome->sent = pawl_ack_duplicate(ack) ? PAWL_SEND_DUPLICATE : PAWL_SEND_ACKNOWLEDGED;
    outcome->payload = pawl_ack_payload(ack, &outcome->payload_size);
    outcome->error = NULL;
}

void pawl_send_report_of_http(int status, const char *retry_after, const void *body,
                              size_t body_size, char *error_room, pawl_send_report *ret_outcome,
                              struct pawl_ack **ret_ack)
{
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;
    pawl_ack *ack = NULL;

    if (body && pawl_ack_decode(body, body_size, &ack, NULL) != PAWL_OK)
        ack = NULL;
    outcome.status = status;
    outcome.reached = true;
    outcome.error = error_room;
    if (retry_after)
        outcome.retry_after_ms = pawli_retry_after_ms(retry_after, pawli_wall_now());
    if (status >= 200 && status < 300) {
        accept_ack(status, ack, error_room, &outcome);
    } else {
        if (status >= 400 && status < 500 && !is_temporary(status))
            outcome.sent = PAWL_SEND_REJECTED;
        outcome_explain(error_room, status,
                        status >= 300 && status < 400 ? "redirects are not followed; change the URL"
                                                      : NULL,
                        ack ? pawl_ack_error(ack) : NULL);
    }
    *ret_outcome = outcome;
    *ret_ack = ack;
}
