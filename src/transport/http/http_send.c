/* src/transport/http/http_send.c - one HTTP request and its result. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <pawl/sys/transport.h>

#include "public_address.h"
#include "fail.h"
#include "http_private.h"
#include "platform.h"
#include "scope.h"
#include "target.h"
#include "text.h"
#include "timestamp.h"
#include "ack.h"

/* ---- one POST of an envelope ---- */

#define HEADER_VALUE_MAX 512
#define ERROR_BODY_MAX 65536

static pawl_status http_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a request");
}

void pawli_http_send_free(pawli_http_send *send)
{
    if (!send)
        return;
    if (send->easy && !send->http->spare) {
        curl_easy_reset(send->easy);
        send->http->spare = send->easy;
        send->easy = NULL;
    }
    curl_easy_cleanup(send->easy);
    curl_slist_free_all(send->headers);
    pawli_buffer_done(&send->body);
    free(send);
}
PAWLI_AUTO_DEFINE(pawli_http_send, pawli_http_send_free);

/* ---- libcurl callbacks ---- */

/* The body of an error response is read only up to a limit. */
static size_t http_send_take_body(char *bytes, size_t one, size_t size, void *context)
{
    pawli_http_send *send = context;
    size_t max = send->body_max;
    long status = 0;

    (void)one;
    curl_easy_getinfo(send->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 300 && max > ERROR_BODY_MAX)
        max = ERROR_BODY_MAX;
    if (size > max - send->body.size) {
        send->body_too_long = true;
        return 0;
    }
    pawli_buffer_append(&send->body, bytes, size);
    return send->body.failed ? 0 : size;
}

/* Called before a new connection, with the resolved address. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    pawli_http_send *send = context;

    (void)purpose;
    if (send->public_only && !pawli_address_is_public(&address->addr)) {
        send->private_refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Called before each request: a reused connection may have been opened for a service with more
 * permissions. */
static int before_request(void *context, char *remote, char *local, int remote_port, int local_port)
{
    pawli_http_send *send = context;

    (void)local;
    (void)remote_port;
    (void)local_port;
    if (send->public_only && !pawli_address_text_is_public(remote)) {
        send->private_refused = true;
        return CURL_PREREQFUNC_ABORT;
    }
    return CURL_PREREQFUNC_OK;
}

/* ---- setup ---- */

static bool http_send_add_header(pawli_http_send *send, const char *line)
{
    struct curl_slist *longer = curl_slist_append(send->headers, line);

    if (longer)
        send->headers = longer;
    return longer != NULL;
}

/* Adds trace headers for proxies and servers that use them; values invalid in HTTP are left out. */
static bool add_trace(pawli_http_send *send, const char *name, const char *value)
{
    char line[HEADER_VALUE_MAX + 32];

    if (!value || !*value || strlen(value) > HEADER_VALUE_MAX)
        return true;
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
            return true;
    snprintf(line, sizeof line, "%s: %s", name, value);
    return http_send_add_header(send, line);
}

static bool http_send_add_headers(pawli_http_send *send, const pawl_envelope *envelope)
{
    return http_send_add_header(send, "Content-Type: application/json") &&
           http_send_add_header(send, "Accept: application/json") &&
           http_send_add_header(send, "Expect:") && /* avoid the round trip of 100-continue */
           add_trace(send, "traceparent", pawl_envelope_traceparent(envelope)) &&
           add_trace(send, "tracestate", pawl_envelope_tracestate(envelope));
}

/* The first failure is kept. */
#define SET(option, value)                                                                         \
    do {                                                                                           \
        if (code == CURLE_OK)                                                                      \
            code = curl_easy_setopt(send->easy, (option), (value));                                \
    } while (0)

static CURLcode set_request(pawli_http_send *send, const pawl_send_request *request,
                            const pawli_target *target)
{
    size_t size;
    const char *text = pawl_envelope_text(request->envelope, &size);
    CURLcode code = CURLE_OK;

    SET(CURLOPT_URL, target->url);
    SET(CURLOPT_UNIX_SOCKET_PATH, target->socket_path);
    if (target->socket_path)
        snprintf(send->unix_socket, sizeof send->unix_socket, "%s", target->socket_path);
    send->request_size = (curl_off_t)size;
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, text); /* not copied: the envelope outlives the send */
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    SET(CURLOPT_HTTPHEADER, send->headers);
    SET(CURLOPT_USERAGENT, send->http->settings->user_agent);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_WRITEFUNCTION, http_send_take_body);
    SET(CURLOPT_WRITEDATA, send);
    SET(CURLOPT_PRIVATE, send);
    SET(CURLOPT_ERRORBUFFER, send->problem);
    return code;
}

static CURLcode set_connection(pawli_http_send *send, const pawl_send_request *request)
{
    const pawl_service *service = request->service;
    int64_t timeout_ms = pawl_service_timeout_ms(service);
    CURLcode code = CURLE_OK;

    if (request->timeout_ms > 0 && request->timeout_ms < timeout_ms)
        timeout_ms = request->timeout_ms;
    SET(CURLOPT_NOSIGNAL, 1L);
    /* Otherwise, ending a send would wait for an unresponsive name server, and block all other
     * sends. */
    SET(CURLOPT_QUICK_EXIT, 1L);
    SET(CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)pawl_service_connect_timeout_ms(service));
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, send);
    SET(CURLOPT_PREREQFUNCTION, before_request);
    SET(CURLOPT_PREREQDATA, send);
    /* "" also disables the proxies that the environment names. */
    SET(CURLOPT_PROXY, pawl_service_proxy(service) ? pawl_service_proxy(service) : "");
    SET(CURLOPT_NOPROXY, "");
    return code;
}

static CURLcode set_tls(pawli_http_send *send, const pawl_service *service)
{
    CURLcode code = CURLE_OK;

    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    if (pawl_service_ca_file(service))
        SET(CURLOPT_CAINFO, pawl_service_ca_file(service));
    return code;
}
#undef SET

static pawl_status http_send_set_up(pawli_http_send *send, const pawl_send_request *request,
                                    pawl_error *err)
{
    pawli_target target = {NULL, NULL};
    bool allowed = pawl_service_allow_private(request->service);
    CURLcode code;
    pawl_status st =
        pawli_target_parse(request->url, send->http->settings->pipe_directory, &target, err);

    if (st != PAWL_OK)
        return st;
    if (target.socket_path && !allowed) {
        pawli_target_done(&target);
        return pawli_fail(err, PAWL_E_DENIED,
                          "a URL with a unix socket or pipe is not allowed as a destination: "
                          "define a service for it, or set allow_private = on in [service *]");
    }
    /* With a proxy, the proxy resolves names, as configured. */
    send->public_only = !allowed && !pawl_service_proxy(request->service);
    send->service_name = pawl_service_name(request->service);
    send->body_max = pawl_service_response_max_bytes(request->service);
    code = http_send_add_headers(send, request->envelope) ? CURLE_OK : CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK)
        code = set_request(send, request, &target);
    if (code == CURLE_OK)
        code = set_connection(send, request);
    if (code == CURLE_OK)
        code = set_tls(send, request->service);
    pawli_target_done(&target);
    if (code == CURLE_OUT_OF_MEMORY)
        return http_no_memory(err);
    if (code != CURLE_OK)
        return pawli_fail_code(err, PAWL_E_INVALID, (int)code, "libcurl rejects an option: %s",
                               curl_easy_strerror(code));
    return PAWL_OK;
}

pawl_status pawli_http_send_new(pawli_http *http, const pawl_send_request *request,
                                pawl_send_end end, void *context, pawli_http_send **ret_send,
                                pawl_error *err)
{
    PAWLI_AUTO(pawli_http_send) send = calloc(1, sizeof *send);
    pawl_status st;

    if (!send)
        return http_no_memory(err);
    send->http = http;
    send->end = end;
    send->context = context;
    send->easy = http->spare ? http->spare : curl_easy_init();
    http->spare = NULL;
    if (!send->easy)
        return http_no_memory(err);
    st = http_send_set_up(send, request, err);
    if (st != PAWL_OK)
        return st;
    *ret_send = pawli_http_send_take(&send);
    return PAWL_OK;
}

/* ---- completion ---- */

/* There was no complete response. */
static void finish_failed(pawli_http_send *send, CURLcode code, pawl_send_report *outcome,
                          char *room)
{
    const char *why = send->problem[0] ? send->problem : curl_easy_strerror(code);

    outcome->error = room;
    if (send->private_refused) {
        outcome->ours = true;
        snprintf(room, PAWL_SEND_ERROR_SIZE,
                 "the destination has a loopback, private or reserved address: set allow_private = "
                 "on in [service %s] to allow it",
                 *send->service_name ? send->service_name : "*");
    } else if (send->body_too_long) {
        snprintf(room, PAWL_SEND_ERROR_SIZE, "the response is longer than %zu bytes",
                 send->body_max);
    } else if (send->body.failed) {
        snprintf(room, PAWL_SEND_ERROR_SIZE, "out of memory for the response");
    } else if (send->unix_socket[0] && code == CURLE_COULDNT_CONNECT) {
        /* libcurl would speak of port 80 of localhost. */
        snprintf(room, PAWL_SEND_ERROR_SIZE, "connection refused: no listener on unix socket %s",
                 send->unix_socket);
    } else {
        snprintf(room, PAWL_SEND_ERROR_SIZE, "%s", why);
    }
}

static bool was_sent_whole(const pawli_http_send *send)
{
    curl_off_t uploaded = 0;
    long head_size = 0;

    curl_easy_getinfo(send->easy, CURLINFO_SIZE_UPLOAD_T, &uploaded);
    curl_easy_getinfo(send->easy, CURLINFO_REQUEST_SIZE, &head_size);
    return head_size > 0 && uploaded >= send->request_size;
}

void pawli_http_send_finish(pawli_http_send *send, CURLcode code)
{
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;
    char room[PAWL_SEND_ERROR_SIZE];
    struct curl_header *retry_after = NULL;
    pawli_ack *ack = NULL;
    long status = 0;

    curl_easy_getinfo(send->easy, CURLINFO_RESPONSE_CODE, &status);
    if (curl_easy_header(send->easy, "Retry-After", 0, CURLH_HEADER, -1, &retry_after) != CURLHE_OK)
        retry_after = NULL;
    /* A rejection counts even if its explanation was truncated. */
    if (code == CURLE_OK || status >= 300) {
        pawl_send_report_of_http((int)status, retry_after ? retry_after->value : NULL,
                                 code == CURLE_OK ? send->body.data : NULL, send->body.size, room,
                                 &outcome, &ack);
    } else {
        outcome.status = (int)status;
        outcome.reached = send->body_too_long; /* otherwise the response was truncated */
        outcome.sent_whole = was_sent_whole(send);
        finish_failed(send, code, &outcome, room);
    }
    send->end(send->context, &outcome);
    pawli_ack_free(ack);
    pawli_http_send_free(send);
}

void pawli_http_send_finish_cancelled(pawli_http_send *send)
{
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;

    outcome.sent = PAWL_SEND_CANCELLED;
    outcome.error = "cancelled";
    send->end(send->context, &outcome);
    pawli_http_send_free(send);
}

/* ---- mapping an HTTP response to a result ---- */

const char *pawl_send_result_name(pawl_send_result sent)
{
    static const char *const names[] = {"acknowledged", "duplicate", "rejected", "retry",
                                        "cancelled"};

    return (unsigned)sent < sizeof names / sizeof names[0] ? names[sent] : "unknown";
}

/* 4xx codes that are temporary. */
static bool is_temporary(int status)
{
    return status == 408 || status == 409 || status == 425 || status == 429;
}

/* Formats one line from untrusted text, truncated to the room. */
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

static void accept_ack(int status, const pawli_ack *ack, char *room, pawl_send_report *outcome)
{
    if (!ack) {
        outcome_explain(room, status,
                        "the response is not an acknowledgement, so it is unknown whether the "
                        "message was processed",
                        NULL);
        return;
    }
    if (!pawli_ack_acknowledged(ack) && !pawli_ack_duplicate(ack)) {
        outcome_explain(room, status, "not acknowledged", pawli_ack_error(ack));
        return;
    }
    outcome->sent = pawli_ack_duplicate(ack) ? PAWL_SEND_DUPLICATE : PAWL_SEND_ACKNOWLEDGED;
    outcome->payload = pawli_ack_payload(ack, &outcome->payload_size);
    outcome->error = NULL;
}

void pawl_send_report_of_http(int status, const char *retry_after, const void *body,
                              size_t body_size, char *error_room, pawl_send_report *ret_outcome,
                              pawl_send_body **ret_body)
{
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;
    pawli_ack *ack = NULL;

    if (body && pawli_ack_decode(body, body_size, &ack, NULL) != PAWL_OK)
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
                        status >= 300 && status < 400 ? "redirects are not followed: change the URL"
                                                      : NULL,
                        ack ? pawli_ack_error(ack) : NULL);
    }
    *ret_outcome = outcome;
    *ret_body = ack;
}

void pawl_send_body_free(pawl_send_body *body)
{
    pawli_ack_free(body);
}
