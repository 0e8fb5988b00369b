/* src/server/http_server.c - the HTTP requests of a listener: passes them from libmicrohttpd to the
 * handler pool. */
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "request_check.h"
#include "log.h"
#include "receiver_private.h"
#include "scope.h"
#include "thread.h"

/* Connections that were shut down but not closed yet also take a slot. */
#define ROOM_FOR_CUT 256

typedef enum exchange_state {
    READING,  /* the request is arriving */
    WAITING,  /* queued for the handler pool; the connection is suspended */
    ANSWERED, /* by the handler pool */
    SENT      /* the response was passed to libmicrohttpd */
} exchange_state;

/* One request and its response. */
typedef struct http_request {
    pawli_request job; /* must be first: the handler pool returns a pointer to it */
    pawli_listener *listener;
    pawli_connection *peer;
    struct MHD_Connection *connection;
    exchange_state state;
    bool is_last; /* of its connection, which is closed afterwards */
    bool too_large;
    bool no_room; /* the limit for bodies is reached, or the connection was closed to make room */
    pawli_buffer body;
} http_request;

static pawli_connection *peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* ---- responding ---- */

static void http_add_headers(struct MHD_Response *mhd_response, const pawli_response *response)
{
    char seconds[32];

    MHD_add_response_header(mhd_response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    MHD_add_response_header(mhd_response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(mhd_response, "X-Content-Type-Options", "nosniff");
    if (response->retry_after > 0) {
        snprintf(seconds, sizeof seconds, "%lld", (long long)response->retry_after);
        MHD_add_response_header(mhd_response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (response->status == 401)
        MHD_add_response_header(mhd_response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "RF-HMAC");
    if (response->close)
        MHD_add_response_header(mhd_response, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* Passes the response and its body to libmicrohttpd. */
static enum MHD_Result send_response(http_request *x)
{
    pawli_response *response = &x->job.response;
    struct MHD_Response *mhd_response;
    enum MHD_Result queued;

    if (x->is_last || atomic_load(&x->listener->receiver->state) != PAWLI_RECEIVER_RUNS)
        response->close = true;
    x->state = SENT;
    if (!pawli_connection_move(&x->listener->connections, x->peer, PAWLI_LEAVING))
        return MHD_NO;
    mhd_response =
        MHD_create_response_from_buffer(response->body_size, response->body, MHD_RESPMEM_MUST_FREE);
    if (!mhd_response)
        return MHD_NO;
    response->body = NULL;
    http_add_headers(mhd_response, response);
    queued = MHD_queue_response(x->connection, (unsigned)response->status, mhd_response);
    MHD_destroy_response(mhd_response);
    return queued;
}

/* Rejects the request itself: it contains no valid envelope. */
static enum MHD_Result http_reject(http_request *x, int status, const char *why)
{
    pawli_response_reject(&x->job.response, status, "%s", why);
    x->job.response.close = true;
    return send_response(x);
}

/* Rejected by one of the limits. */
static enum MHD_Result reject_by_limit(http_request *x, pawli_rejection why)
{
    int status = pawli_rejection_status(why);
    enum MHD_Result queued;

    x->job.response.retry_after = status == 413 ? 0 : 1;
    queued = http_reject(x, status, pawli_rejection_text(why));
    if (queued == MHD_YES) /* otherwise it was closed, and counted at that time */
        pawli_rejections_add(&x->listener->receiver->rejections, why);
    return queued;
}

/* ---- requests in the handler pool ---- */

/* Thread: one of the handler pool's, or the listener's if the queue was full. */
static void http_responded(pawli_request *job)
{
    http_request *x = (http_request *)job;

    pawli_process_count(x->listener->receiver, &job->response);
    x->state = ANSWERED;
    MHD_resume_connection(x->connection);
}

static enum MHD_Result submit_to_pool(http_request *x)
{
    if (!pawli_connection_move(&x->listener->connections, x->peer, PAWLI_WORKING))
        return MHD_NO;
    x->job.body = x->body.data;
    x->job.body_size = x->body.size;
    x->job.done = http_responded;
    x->state = WAITING;
    MHD_suspend_connection(x->connection); /* must come before any thread can resume it */
    if (!pawli_receive_pool_take(&x->listener->receiver->pool, &x->job)) {
        bool runs = atomic_load(&x->listener->receiver->state) == PAWLI_RECEIVER_RUNS;
        pawli_response_reject(&x->job.response, runs ? 429 : 503, "%s",
                              runs ? pawli_rejection_text(PAWLI_REJECTED_WAITING)
                                   : "this receiver is shutting down");
        if (runs)
            pawli_rejections_add(&x->listener->receiver->rejections, PAWLI_REJECTED_WAITING);
        x->job.response.retry_after = 1;
        http_responded(&x->job);
    }
    return MHD_YES;
}

/* ---- receiving a request ---- */

typedef enum path_kind { PATH_UNKNOWN, PATH_RECEIVE, PATH_HEALTH } path_kind;

static path_kind path_of(const char *url)
{
    if (strcmp(url, "/_rf/receive") == 0)
        return PATH_RECEIVE;
    if (strcmp(url, "/health") == 0 || strcmp(url, "/_rf/health") == 0)
        return PATH_HEALTH;
    return PATH_UNKNOWN;
}

/* Does all checks that do not need the body. */
static enum MHD_Result http_begin(http_request *x, const char *url, const char *method,
                                  const char *version)
{
    const pawl_receiver_options *options = &x->listener->receiver->options;
    path_kind path = path_of(url);
    pawli_request_head head = {0};
    const char *wrong = pawli_request_check(x->connection, version, &head);

    if (wrong)
        return http_reject(x, 400, wrong);
    if (!pawli_layout_is_plain(x->connection, version))
        return http_reject(x, 400, "every header must be one line that ends with CRLF");
    /* libmicrohttpd accepts LF at the end of a chunk's line, others require CRLF, so the end of
     * the body is ambiguous. */
    x->is_last = head.is_chunked;
    if (head.length > (int64_t)options->max_body_bytes)
        return reject_by_limit(x, PAWLI_REJECTED_BODY);
    if (path == PATH_UNKNOWN)
        return http_reject(x, 404, "no such path");
    if (strcmp(method, path == PATH_RECEIVE ? "POST" : "GET") != 0 &&
        !(path == PATH_HEALTH && strcmp(method, "HEAD") == 0))
        return http_reject(
            x, 405, path == PATH_RECEIVE ? "this path requires POST" : "this path requires GET");
    if (path == PATH_RECEIVE && (!head.is_json || head.is_encoded))
        return http_reject(x, 415,
                           "the Content-Type must be application/json, without a Content-Encoding");
    return MHD_YES;
}

static void http_release_body(http_request *x)
{
    pawli_body_release(x->listener, x->peer);
    pawli_buffer_done(&x->body);
}

/* If a body is too large, the response can only be sent when the body has ended. */
static void http_take_body(http_request *x, const char *data, size_t size)
{
    pawl_receiver *receiver = x->listener->receiver;

    if (x->body.size + size > receiver->options.max_body_bytes)
        x->too_large = true;
    if (x->too_large || x->no_room) {
        http_release_body(x);
        return;
    }
    if (pawli_body_reserve(x->listener, x->peer, size))
        pawli_buffer_append(&x->body, data, size);
    else
        x->no_room = true;
}

static enum MHD_Result http_arrived(http_request *x, const char *url)
{
    if (x->too_large)
        return reject_by_limit(x, PAWLI_REJECTED_BODY);
    if (x->no_room || x->body.failed)
        return reject_by_limit(x, PAWLI_REJECTED_MEMORY);
    if (path_of(url) == PATH_RECEIVE)
        return submit_to_pool(x);
    pawli_respond_health(x->listener, &x->job.response);
    return send_response(x);
}

static http_request *http_request_new(pawli_listener *listener, struct MHD_Connection *connection)
{
    http_request *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->listener = listener;
    x->connection = connection;
    x->peer = peer_of(connection);
    if (x->peer)
        return x;
    free(x);
    return NULL;
}

/* libmicrohttpd calls this when the head has arrived, for each piece of the body, and at its
 * end. */
static enum MHD_Result http_serve(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **slot)
{
    http_request *x = *slot;

    if (!x) {
        x = *slot = http_request_new(context, connection);
        return x ? http_begin(x, url, method, version) : MHD_NO;
    }
    switch (x->state) {
    case READING:
        if (*size == 0)
            return http_arrived(x, url);
        http_take_body(x, data, *size);
        *size = 0;
        return MHD_YES;
    case ANSWERED:
        return send_response(x);
    case WAITING:
    case SENT:
        break;
    }
    *size = 0;
    return MHD_YES;
}

/* ---- start and end of requests and connections ---- */

/* libmicrohttpd itself rejects a head that does not fit into the connection's memory, and
 * http_serve() is not called. Only the status of its response tells. */
static void count_large_head(pawli_listener *listener, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS);

    if (info && info->http_status == MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE)
        pawli_rejections_add(&listener->receiver->rejections, PAWLI_REJECTED_HEADERS);
}

static void http_completed(void *context, struct MHD_Connection *connection, void **slot,
                           enum MHD_RequestTerminationCode code)
{
    pawli_listener *listener = context;
    http_request *x = *slot;

    (void)code;
    count_large_head(listener, connection);
    if (!x)
        return;
    pawli_connection_move(&listener->connections, x->peer, PAWLI_IDLE);
    pawli_response_done(&x->job.response);
    http_release_body(x);
    free(x);
    *slot = NULL;
}

/* The first line of a request has arrived. */
static void *has_begun(void *context, const char *uri, struct MHD_Connection *connection)
{
    pawli_listener *listener = context;
    pawli_connection *peer = peer_of(connection);

    (void)uri;
    if (peer)
        pawli_connection_move(&listener->connections, peer, PAWLI_ARRIVING);
    return NULL;
}

static void http_connected(void *context, struct MHD_Connection *connection, void **slot,
                           enum MHD_ConnectionNotificationCode code)
{
    pawli_listener *listener = context;
    const union MHD_ConnectionInfo *info;
    const struct sockaddr *address;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        pawli_connection_close(&listener->connections, *slot);
        *slot = NULL;
        return;
    }
    /* Since version 1.0 all calls return the same memory: copy the result before the next call. */
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    address = info ? info->client_addr : NULL;
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *slot = pawli_connection_open(&listener->connections, info ? info->connect_fd : -1,
                                  !listener->tls_cert, address);
}

static void write_log(void *context, const char *format, va_list arguments) PAWL_PRINTF(2, 0);
static void write_log(void *context, const char *format, va_list arguments)
{
    const pawli_listener *listener = context;
    const pawl_log_sink *log = &listener->receiver->options.log;
    char text[512];
    size_t length;

    if (!log->write || log->level > PAWL_LOG_DEBUG)
        return;
    vsnprintf(text, sizeof text, format, arguments);
    length = strlen(text);
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    pawli_log(log, PAWL_LOG_DEBUG, "http", "{error}", pawli_logged("error", text));
}

/* ---- start and stop ---- */

static struct MHD_Daemon *start_daemon(pawli_listener *listener)
{
    const pawl_receiver_options *options = &listener->receiver->options;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, listener->tls_cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, listener->tls_key},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};

    if (listener->tls_cert)
        flags |= MHD_USE_TLS;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, http_serve, listener, MHD_OPTION_EXTERNAL_LOGGER, write_log, listener,
        MHD_OPTION_LISTEN_SOCKET, listener->daemon_fd, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)options->threads, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(options->connections + ROOM_FOR_CUT), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        options->max_header_bytes, MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_STRICT_FOR_CLIENT,
        1, MHD_OPTION_NOTIFY_CONNECTION, http_connected, listener, MHD_OPTION_NOTIFY_COMPLETED,
        http_completed, listener, MHD_OPTION_URI_LOG_CALLBACK, has_begun, listener,
        MHD_OPTION_ARRAY, listener->tls_cert ? tls : none, MHD_OPTION_END);
}

pawl_status pawli_http_start(pawli_listener *listener, pawl_error *err)
{
    const pawl_receiver_options *options = &listener->receiver->options;
    sigset_t before;

    if (!pawli_layout_is_supported(MHD_get_version()))
        return pawli_fail(err, PAWL_E_UNSUPPORTED,
                          "libmicrohttpd %s parses some requests differently than proxies do: use "
                          "version 0.9.75, or 1.0 or later",
                          MHD_get_version());
    const pawli_connection_limits limits = {
        .timeout_ms = options->request_ms,
        .most = (size_t)options->connections,
        .most_per_peer = (size_t)options->connections_per_ip,
        .trusted = &listener->receiver->trusted,
        .rejections = &listener->receiver->rejections,
    };

    if (!pawli_connections_start(&listener->connections, &limits))
        return pawli_fail(err, PAWL_E_NOMEM, "the receiver cannot start a thread");
    /* The daemon gets a duplicate, because it closes the descriptor in some cases and not in
     * others. */
    listener->daemon_fd = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);
    if (listener->daemon_fd < 0)
        return pawli_fail_code(
            err, PAWL_E_NOMEM, errno,
            "no file descriptor is available: raise the limit of open files (ulimit -n)");
    pawli_signals_block(&before);
    listener->daemon = start_daemon(listener);
    pawli_signals_restore(&before);
    if (!listener->daemon)
        return pawli_fail(err, PAWL_E_IO,
                          "the receiver cannot start its HTTP server%s; see the log at level debug",
                          listener->tls_cert ? ": do the certificate and the key match?" : "");
    return PAWL_OK;
}

void pawli_http_quiesce(pawli_listener *listener)
{
    if (!listener->daemon)
        return;
    MHD_quiesce_daemon(listener->daemon);
    shutdown(listener->fd, SHUT_RDWR); /* reject clients that are still in the accept queue */
}

void pawli_http_stop(pawli_listener *listener)
{
    if (listener->daemon) {
        MHD_stop_daemon(listener->daemon);
        close(listener->daemon_fd); /* the daemon was quiesced: the descriptor belongs to us
                                     * again */
    }
    listener->daemon = NULL;
    pawli_connections_done(&listener->connections);
}
