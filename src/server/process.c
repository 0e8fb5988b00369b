/* src/server/process.c - processes a received envelope, from its bytes to the response
 * (docs/wire.md). */

#include "auto.h"
#include "log.h"
#include "receiver_private.h"
#include "platform.h"
#include "signature.h"

#define AREA "receiver"

/* ---- decoding, and authenticating the sender ---- */

static pawl_services *current_services(pawl_receiver *receiver)
{
    pawl_services *services;

    pthread_mutex_lock(&receiver->services_lock);
    services = pawl_services_ref(receiver->services);
    pthread_mutex_unlock(&receiver->services_lock);
    return services;
}

static pawl_status check_signature(pawl_receiver *receiver, const pawl_envelope *envelope,
                                   pawl_error *err)
{
    PAWLI_AUTO(pawl_services) services = current_services(receiver);
    const pawl_service *peer = pawl_services_peer(services, pawl_envelope_source(envelope));
    pawli_signature_options options = PAWLI_SIGNATURE_OPTIONS_INIT;

    options.window_ms = receiver->options.replay_window_ms;
    if (peer)
        options.scheme = pawl_service_scheme(peer);
    return pawli_signature_check(envelope, peer ? pawli_service_secrets(peer) : NULL, &options,
                                 err);
}

/* The response for a database error: the sender only learns that it should retry. */
static void respond_store_error(pawli_response *response, pawl_status st)
{
    int status = pawl_status_http(st);

    pawli_response_reject(response, status >= 500 ? status : 500, "temporarily unavailable: %s",
                          pawl_status_text(st));
    response->retry_after = 1;
}

static void respond_undecodable(pawl_receiver *receiver, pawli_response *response,
                                const pawl_error *err)
{
    pawli_log(&receiver->options.log, PAWL_LOG_WARNING, AREA,
              "rejected an invalid envelope: {error}", pawli_logged("error", err->message));
    if (err->status == PAWL_E_INVALID)
        pawli_response_reject(response, 400, "%s", err->message);
    else if (err->status == PAWL_E_TOO_LARGE)
        pawli_response_reject(response, 413, "%s", err->message);
    else
        respond_store_error(response, err->status);
}

bool pawli_process_read(void *context, pawli_request *job)
{
    pawl_receiver *receiver = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st = pawl_envelope_decode(job->body, job->body_size,
                                          receiver->options.max_body_bytes, &job->envelope, &err);

    if (st != PAWL_OK) {
        respond_undecodable(receiver, &job->response, &err);
        return false;
    }
    st = check_signature(receiver, job->envelope, &err);
    if (st == PAWL_E_DENIED) {
        pawli_log(&receiver->options.log, PAWL_LOG_WARNING, "inbox",
                  "HMAC verification failed for {message_id} from {source}: {error}",
                  pawli_logged("message_id", pawl_envelope_id(job->envelope)),
                  pawli_logged("source", pawl_envelope_source(job->envelope)),
                  pawli_logged("error", err.message));
        pawli_response_reject(&job->response, 401, "the signature is missing, wrong or too old");
        return false;
    }
    if (st != PAWL_OK) {
        respond_store_error(&job->response, st);
        return false;
    }
    job->route = pawli_routes_find(&receiver->routes, pawl_envelope_endpoint(job->envelope));
    if (!job->route) {
        pawli_log(&receiver->options.log, PAWL_LOG_WARNING, AREA,
                  "rejected {message_id} from {source}: no handler is registered for its endpoint "
                  "{topic}",
                  pawli_logged("message_id", pawl_envelope_id(job->envelope)),
                  pawli_logged("source", pawl_envelope_source(job->envelope)),
                  pawli_logged("topic", pawl_envelope_endpoint(job->envelope)));
        pawli_response_reject(&job->response, 404, "no handler is registered for this endpoint");
        return false;
    }
    return true;
}

/* ---- responses from the inbox ---- */

static void respond_known(const pawl_inbox_task *inbox_task, pawli_response *response)
{
    const char *why = pawl_inbox_task_error(inbox_task);
    const void *body;
    size_t size = 0;

    switch (pawl_inbox_task_result(inbox_task)) {
    case PAWL_INBOX_DUPLICATE:
        body = pawl_inbox_task_response(inbox_task, &size);
        pawli_response_acknowledge(response, true, body, size);
        return;
    case PAWL_INBOX_CONFLICT:
        pawli_response_reject(response, 422,
                              "this messageId was received before with a different payload");
        return;
    case PAWL_INBOX_REJECTED:
        pawli_response_reject(response, 422, "the message is dead after %d attempts%s%s",
                              pawl_inbox_task_attempt(inbox_task), why ? ": " : "", why ? why : "");
        return;
    case PAWL_INBOX_NEW:
    case PAWL_INBOX_IN_PROGRESS:
        break;
    }
    pawli_response_reject(response, 409, "the message is being processed");
    response->retry_after = (pawl_inbox_task_retry_after_ms(inbox_task) + 999) / 1000;
}

static pawl_status process_arrive(pawl_receiver *receiver, const pawli_request *job,
                                  pawl_inbox_task **ret_task, pawl_error *err)
{
    const pawl_envelope *envelope = job->envelope;
    const pawli_route *route = job->route;
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;
    pawl_status (*begin)(pawl_store *, const char *, const char *, const uint8_t *,
                         const pawl_inbox_options *, pawl_inbox_task **, pawl_error *) =
        route->mode == PAWL_RECEIVE_ATOMIC ? pawl_inbox_begin : pawl_inbox_call;

    options.endpoint = pawl_envelope_endpoint(envelope);
    options.max_attempts = route->options.max_attempts > 0 ? route->options.max_attempts
                                                           : receiver->options.max_attempts;
    options.lease_ms = receiver->options.lease_ms;
    options.keep_ms = receiver->options.keep_ms;
    options.suspect_wait_ms = job->is_next ? 0 : PAWL_SUSPECT_NOT_BEGUN;
    return begin(receiver->store, pawl_envelope_source(envelope), pawl_envelope_id(envelope),
                 pawl_envelope_payload_hash(envelope), &options, ret_task, err);
}

/* ---- calling the handler, and turning its result into a response ---- */

static pawl_result call_handler(pawl_receive_task *task, const pawli_route *route)
{
    pawli_receive_renewer *renewer = &task->receiver->renewer;
    bool renewed = task->mode == PAWL_RECEIVE_CALL_OUT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_result result;

    task->call.message_id = pawl_envelope_id(task->envelope);
    task->call.source = pawl_envelope_source(task->envelope);
    if (pawli_receive_renewer_add(renewer, &task->call, renewed ? task->inbox_task : NULL,
                                  &(pawli_handler_call_times){task->began,
                                                              task->receiver->options.lease_ms,
                                                              route->options.timeout_ms},
                                  &err) != PAWL_OK) {
        pawl_receive_task_set_error(task, err.message);
        return PAWL_RETRY;
    }
    result = route->handler(task, route->context);
    pawli_receive_renewer_remove(renewer, &task->call);
    if (result == PAWL_DONE && task->too_large) {
        pawl_receive_task_set_error(task, "the response is too large");
        return PAWL_RETRY;
    }
    return result;
}

static pawl_status finish_done(pawl_receive_task *task, pawli_response *response, pawl_error *err)
{
    const char *empty = "";
    const void *body = task->response.data ? task->response.data : empty;
    size_t size = task->response.size;
    pawl_status st;

    if (!task->has_response)
        body = NULL;
    st = pawl_inbox_task_done(task->inbox_task, body, size, err);
    if (st == PAWL_OK)
        pawli_response_acknowledge(response, false, body, size);
    return st;
}

static pawl_status finish_undone(pawl_receive_task *task, pawl_result result,
                                 pawli_response *response, pawl_error *err)
{
    const char *error = task->error[0] ? task->error : NULL;

    if (result == PAWL_FAIL) {
        pawli_response_reject(response, 422, "%s", error ? error : "it was rejected");
        return pawl_inbox_task_fail_permanently(task->inbox_task, error, err);
    }
    if (result == PAWL_RELEASE) {
        pawli_response_reject(response, 503, "%s", error ? error : "this process cannot handle it");
        response->retry_after = 1;
    } else {
        pawli_response_reject(response, 500, "%s", error ? error : "it could not be processed");
    }
    return pawl_inbox_task_fail(task->inbox_task, error, err);
}

/* The handler's error text may contain parts of the payload, so it is stored in the inbox record
 * but not logged. */
static void receive_log_failure(const pawl_receive_task *task, const char *what, const char *why)
{
    pawli_log_fields fields = {0};
    char pattern[96];

    pawli_log_text(&fields, "message_id", pawl_envelope_id(task->envelope));
    pawli_log_text(&fields, "source", pawl_envelope_source(task->envelope));
    pawli_log_number(&fields, "attempt", pawl_inbox_task_attempt(task->inbox_task));
    pawli_log_text(&fields, "error", why);
    snprintf(pattern, sizeof pattern, "{message_id} from {source} %s (attempt {attempt}): {error}",
             what);
    pawli_log_record(&task->receiver->options.log, PAWL_LOG_WARNING, AREA, &fields, pattern);
}

static void process_handle(pawl_receive_task *task, const pawli_route *route,
                           pawli_response *response)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_result result = call_handler(task, route);
    pawl_status st;

    if (result != PAWL_DONE)
        receive_log_failure(task, result == PAWL_FAIL ? "failed permanently" : "was not processed",
                            task->error[0] ? "see the inbox record for the reason"
                                           : "no reason given");
    st = result == PAWL_DONE ? finish_done(task, response, &err)
                             : finish_undone(task, result, response, &err);
    if (st == PAWL_OK)
        return;
    receive_log_failure(task, "has an unknown result", err.message);
    /* In doubt or lost: the next delivery of this message finds out what was committed. */
    if (result == PAWL_DONE)
        respond_store_error(response, st);
}

bool pawli_process(void *context, pawli_request *job)
{
    pawl_receiver *receiver = context;
    PAWLI_AUTO(pawl_inbox_task) inbox_task = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_mono began = pawli_mono_now();
    pawl_status st = process_arrive(receiver, job, &inbox_task, &err);

    if (st != PAWL_OK) {
        pawli_log(&receiver->options.log, PAWL_LOG_ERROR, AREA,
                  "{message_id} from {source} could not be recorded, its sender retries: {error}",
                  pawli_logged("message_id", pawl_envelope_id(job->envelope)),
                  pawli_logged("source", pawl_envelope_source(job->envelope)),
                  pawli_logged("error", err.message));
        respond_store_error(&job->response, st);
        return true;
    }
    if (pawl_inbox_task_suspect(inbox_task) && !job->is_next)
        return false;
    if (pawl_inbox_task_result(inbox_task) != PAWL_INBOX_NEW) {
        respond_known(inbox_task, &job->response);
        return true;
    }
    pawl_receive_task task = {.receiver = receiver,
                              .envelope = job->envelope,
                              .inbox_task = inbox_task,
                              .began = began,
                              .mode = job->route->mode};
    process_handle(&task, job->route, &job->response);
    pawli_buffer_done(&task.response);
    return true;
}

void pawli_process_reject(void *context, pawli_request *job)
{
    (void)context;
    pawli_response_reject(&job->response, 503, "this receiver is shutting down");
    job->response.retry_after = 1;
}

void pawli_process_count(pawl_receiver *receiver, const pawli_response *response)
{
    pawli_receiver_counts *counts = &receiver->counts;

    atomic_fetch_add(&counts->received, 1);
    if (response->status == 401)
        atomic_fetch_add(&counts->unsigned_, 1);
    else if (response->status >= 500)
        atomic_fetch_add(&counts->failed, 1);
    else if (response->status >= 400)
        atomic_fetch_add(&counts->refused, 1);
    else
        atomic_fetch_add(response->duplicate ? &counts->duplicates : &counts->processed, 1);
}
