/* src/server/inproc.c - messages from a sender in the same process. */
#include <pawl/ack.h>
#include <pawl/sys/transport.h>

#include "receiver_private.h"

static void process_inproc(pawl_receiver *receiver, const pawl_envelope *envelope,
                           pawli_answer *answer)
{
    pawli_request job = {0};

    if (atomic_load(&receiver->state) != PAWLI_RECEIVER_RUNS) {
        pawli_response_reject(answer, 503, "this receiver is not running");
        return;
    }
    job.route = pawli_routes_find(&receiver->routes, pawl_envelope_endpoint(envelope));
    if (!job.route) {
        pawli_response_reject(answer, 404, "there is no handler for this endpoint");
        return;
    }
    if (!pawli_receive_pool_enter(&receiver->pool, job.route)) {
        pawli_response_reject(answer, 429, "too many messages are waiting");
        return;
    }
    job.is_next = true; /* a suspect waits here, on the sender's thread */
    /* The job only borrows it. */
    job.envelope = (pawl_envelope *)(uintptr_t)envelope;
    pawli_process(receiver, &job);
    pawli_receive_pool_leave(&receiver->pool, job.route);
    *answer = job.answer;
}

void pawl_receiver_inproc(void *context, const pawl_envelope *envelope, pawl_reply *reply)
{
    pawl_receiver *receiver = context;
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;
    struct pawl_ack *ack = NULL;
    char error[PAWL_SEND_ERROR_SIZE];
    pawli_answer answer = {0};

    process_inproc(receiver, envelope, &answer);
    pawli_process_count(receiver, &answer);
    pawl_send_report_of_http(answer.status, NULL, answer.body, answer.body_size, error, &outcome,
                             &ack);
    if (answer.retry_after > 0)
        outcome.retry_after_ms = answer.retry_after * 1000;
    pawl_reply_send(reply, &outcome);
    pawl_ack_free(ack);
    pawli_response_done(&answer);
}
