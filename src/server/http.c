/* src/server/http.c - the requests of a door: libmicrohttpd on one side, the crew on the other. */
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

/* Connections that are cut, but not closed yet, have a place, too. */
#define ROOM_FOR_CUT 256

typedef enum exchange_state {
    READING,  /* the request is arriving */
    WAITING,  /* for the crew; the connection is suspended */
    ANSWERED, /* by the crew */
    SENT      /* the answer is libmicrohttpd's */
} exchange_state;

/* One request and its answer. */
typedef struct exchange {
    pawli_request job; /* first: the crew gives it back */
    pawli_listener *listener;
    pawli_connection *peer;
    struct MHD_Connection *connection;
    exchange_state state;
    bool is_last; /* on its connection, whatever follows */
    bool too_large;
    bool no_room; /* others hold too much already, or it was cut for them */
    pawli_buffer body;
} exchange;

static pawli_connection *peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* ---- answering ---- */

static void http_add_headers(struct MHD_Response *response, const pawli_answer *answer)
{
    char seconds[32];

    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (answer->retry_after > 0) {
        snprintf(seconds, sizeof seconds, "%lld", (long long)answer->retry_after);
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (answer->status == 401)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "RF-HMAC");
    if (answer->close)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* Hands the answer over; the body goes with it. */
static enum MHD_Result send_answer(exchange *x)
{
    pawli_answer *answer = &x->job.answer;
    struct MHD_Response *response;
    enum MHD_Result queued;

    if (x->is_last || atomic_load(&x->listener->receiver->state) != PAWLI_RECEIVER_RUNS)
        answer->close = true;
    x->state = SENT;
    if (!pawli_connection_move(&x->listener->connections, x->peer, PAWLI_LEAVING))
        return MHD_NO;
    response =
        MHD_create_response_from_buffer(answer->body_size, answer->body, MHD_RESPMEM_MUST_FREE);
    if (!response)
        return MHD_NO;
    answer->body = NULL;
    http_add_headers(response, answer);
    queued = MHD_queue_response(x->connection, (unsigned)answer->status, response);
    MHD_destroy_response(response);
    return queued;
}

/* Not an envelope's answer: the request itself is no good. */
static enum MHD_Result http_refuse(exchange *x, int status, const char *why)
{
    pawli_response_reject(&x->job.answer, status, "%s", why);
    x->job.answer.close = true;
    return send_answer(x);
}

/* Refused by one of the limits. */
static enum MHD_Result refuse_by(exchange *x, pawli_rejection why)
{
    int status = pawli_rejection_status(why);
    enum MHD_Result queued;

    x->job.answer.retry_after = status == 413 ? 0 : 1;
    queued = http_refuse(x, status, pawli_rejection_text(why));
    if (queued == MHD_YES) /* else it was cut, and counted then */
        pawli_rejections_add(&x->listener->receiver->rejections, why);
    return queued;
}

/* ---- the crew's part ---- */

/* Thread: one of the crew's, or that of the door if there was no room. */
static void http_answered(pawli_request *job)
{
    exchange *x = (exchange *)job;

    pawli_process_count(x->listener->receiver, &job->answer);
    x->state = ANSWERED;
    MHD_resume_connection(x->connection);
}

static enum MHD_Result give_to_pool(exchange *x)
{
    if (!pawli_connection_move(&x->listener->connections, x->peer, PAWLI_WORKING))
        return MHD_NO;
    x->job.body = x->body.data;
    x->job.body_size = x->body.size;
    x->job.done = http_answered;
    x->state = WAITING;
    MHD_suspend_connection(x->connection); /* before anybody can resume it */
    if (!pawli_receive_pool_take(&x->listener->receiver->pool, &x->job)) {
        bool runs = atomic_load(&x->listener->receiver->state) == PAWLI_RECEIVER_RUNS;
        pawli_response_reject(&x->job.answer, runs ? 429 : 503, "%s",
                              runs ? pawli_rejection_text(PAWLI_REJECTED_WAITING)
                                   : "this receiver is stopping");
        if (runs)
            pawli_rejections_add(&x->listener->receiver->rejections, PAWLI_REJECTED_WAITING);
        x->job.answer.retry_after = 1;
        http_answered(&x->job);
    }
    return MHD_YES;
}

/* ---- a request arrives ---- */

typedef enum path_kind { PATH_UNKNOWN, PATH_RECEIVE, PATH_HEALTH } path_kind;

static path_kind path_of(const char *url)
{
    if (strcmp(url, "/_rf/receive") == 0)
        return PATH_RECEIVE;
    if (strcmp(url, "/health") == 0 || strcmp(url, "/_rf/health") == 0)
        return PATH_HEALTH;
    return PATH_UNKNOWN;
}

/* Everything that can be said before the body has come. */
static enum MHD_Result http_begin(exchange *x, const char *url, const char *method,
                                  const char *version)
{
    const pawl_receiver_options *options = &x->listener->receiver->options;
    path_kind path = path_of(url);
    pawli_request_head head = {0};
    const char *wrong = pawli_request_check(x->connection, version, &head);

    if (wrong)
        return http_refuse(x, 400, wrong);
    if (!pawli_layout_is_plain(x->connection, version))
        return http_refuse(x, 400, "every header must be one line that ends with CRLF");
    /* libmicrohttpd ends a chunk's line at LF, others at CRLF: where the body ends is in the eye of
     * the reader. */
    x->is_last = head.is_chunked;
    if (head.length > (int64_t)options->max_body_bytes)
        return refuse_by(x, PAWLI_REJECTED_BODY);
    if (path == PATH_UNKNOWN)
        return http_refuse(x, 404, "there is nothing at this path");
    if (strcmp(method, path == PATH_RECEIVE ? "POST" : "GET") != 0 &&
        !(path == PATH_HEALTH && strcmp(method, "HEAD") == 0))
        return http_refuse(x, 405,
                           path == PATH_RECEIVE ? "this path takes POST" : "this path takes GET");
    if (path == PATH_RECEIVE && (!head.is_json || head.is_encoded))
        return http_refuse(x, 415,
                           "the Content-Type must be application/json, without an encoding");
    return MHD_YES;
}

static void http_let_go(exchange *x)
{
    pawli_body_release(x->listener, x->peer);
    pawli_buffer_done(&x->body);
}

/* The answer to a body that is too large comes when it has ended: only then can it be sent. */
static void http_take_body(exchange *x, const char *data, size_t size)
{
    pawl_receiver *receiver = x->listener->receiver;

    if (x->body.size + size > receiver->options.max_body_bytes)
        x->too_large = true;
    if (x->too_large || x->no_room) {
        http_let_go(x);
        return;
    }
    if (pawli_body_reserve(x->listener, x->peer, size))
        pawli_buffer_append(&x->body, data, size);
    else
        x->no_room = true;
}

static enum MHD_Result http_arrived(exchange *x, const char *url)
{
    if (x->too_large)
        return refuse_by(x, PAWLI_REJECTED_BODY);
    if (x->no_room || x->body.failed)
        return refuse_by(x, PAWLI_REJECTED_MEMORY);
    if (path_of(url) == PATH_RECEIVE)
        return give_to_pool(x);
    pawli_respond_health(x->listener, &x->job.answer);
    return send_answer(x);
}

static exchange *exchange_new(pawli_listener *listener, struct MHD_Connection *connection)
{
    exchange *x = calloc(1, sizeof *x);

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

/* libmicrohttpd calls this when the head is there, for each piece of the body, and at its end. */
static enum MHD_Result http_serve(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **slot)
{
    exchange *x = *slot;

    if (!x) {
        x = *slot = exchange_new(context, connection);
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
        return send_answer(x);
    case WAITING:
    case SENT:
        break;
    }
    *size = 0;
    return MHD_YES;
}

/* ---- the life of requests and connections ---- */

static void http_completed(void *context, struct MHD_Connection *connection, void **slot,
                           enum MHD_RequestTerminationCode code)
{
    pawli_listener *listener = context;
    exchange *x = *slot;

    (void)code;
    (void)connection;
    if (!x)
        return;
    pawli_connection_move(&listener->connections, x->peer, PAWLI_IDLE);
    pawli_response_done(&x->job.answer);
    http_let_go(x);
    free(x);
    *slot = NULL;
}

/* The first line of a request is there. */
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
    /* From 1.0 on every call answers in the same memory: copy before asking again. */
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
    pawli_log(log, PAWL_LOG_DEBUG, "http", "%s", text);
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
                          "libmicrohttpd %s reads some requests differently than proxies do: use "
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
        return pawli_fail(err, PAWL_E_NOMEM, "the receiver could not start a thread");
    /* Its own copy, since it closes the descriptor in some cases and in others does not. */
    listener->daemon_fd = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);
    if (listener->daemon_fd < 0)
        return pawli_fail_code(err, PAWL_E_NOMEM, errno, "no descriptor is left");
    pawli_signals_block(&before);
    listener->daemon = start_daemon(listener);
    pawli_signals_restore(&before);
    if (!listener->daemon)
        return pawli_fail(err, PAWL_E_IO,
                          "the receiver could not start its HTTP server%s; log records of level "
                          "debug say why",
                          listener->tls_cert ? ": is the certificate the key's?" : "");
    return PAWL_OK;
}

void pawli_http_quiesce(pawli_listener *listener)
{
    if (!listener->daemon)
        return;
    MHD_quiesce_daemon(listener->daemon);
    shutdown(listener->fd, SHUT_RDWR); /* nobody waits in line for what will not come */
}

void pawli_http_stop(pawli_listener *listener)
{
    if (listener->daemon) {
        MHD_stop_daemon(listener->daemon);
        close(listener->daemon_fd); /* it was quiesced: the descriptor is ours again */
    }
    listener->daemon = NULL;
    pawli_connections_done(&listener->connections);
}
