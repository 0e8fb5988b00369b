/* tests/transport/peer_server.c - a peer that is a real HTTP server, on TCP or a socket, by
 * libmicrohttpd.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "buffer.h"
#include "peer_private.h"
#include "test.h"
#include "ack.h"

typedef struct http_request {
    struct MHD_Connection *connection;
    pawli_buffer body;
    bool waits;                /* suspended now */
    struct http_request *next; /* of those that are blocked */
} http_request;

typedef struct http_server {
    struct MHD_Daemon *daemon;
    http_request *receipt;
} http_server;

/* ---- answers ---- */

static enum MHD_Result peer_server_answer(struct MHD_Connection *connection, int status,
                                          struct MHD_Response *response)
{
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)status, response);

    MHD_destroy_response(response);
    return result;
}

static struct MHD_Response *response_of(const char *text, size_t size)
{
    union {
        const char *constant;
        void *bytes;
    } body = {text}; /* copied, but the declaration does not say so */

    return MHD_create_response_from_buffer(size, body.bytes, MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result answer_ack(struct MHD_Connection *connection, int status,
                                  const pawli_ack_content *content, const char *retry_after)
{
    pawli_ack *ack = NULL;
    size_t size;

    if (pawli_ack_encode(content, &ack, NULL) != PAWL_OK)
        abort();
    const char *text = pawli_ack_text(ack, &size);
    struct MHD_Response *response = response_of(text, size);
    pawli_ack_free(ack);
    if (retry_after)
        MHD_add_response_header(response, "Retry-After", retry_after);
    return peer_server_answer(connection, status, response);
}

static enum MHD_Result answer_as_all(struct MHD_Connection *connection, const behaviour *how,
                                     const pawl_envelope *envelope)
{
    pawli_ack_content content = PAWLI_ACK_CONTENT_INIT;
    char seconds[32];

    content.acknowledged = how->sent <= PAWL_SEND_DUPLICATE;
    content.duplicate = how->sent == PAWL_SEND_DUPLICATE;
    content.error = how->error;
    if (content.acknowledged)
        content.payload = pawl_envelope_payload(envelope, &content.payload_size);
    snprintf(seconds, sizeof seconds, "%lld", (long long)how->retry_after_ms / 1000);
    return answer_ack(connection, how->status, &content, how->retry_after_ms > 0 ? seconds : NULL);
}

/* Ten bytes, and then no more. */
static ssize_t cut_after_ten(void *context, uint64_t at, char *room, size_t size)
{
    (void)context;
    if (at >= 10 || size < 10)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    memset(room, ' ', 10);
    return 10;
}

static ssize_t never_end(void *context, uint64_t at, char *room, size_t size)
{
    (void)context;
    (void)at;
    memset(room, ' ', size);
    return (ssize_t)size;
}

static enum MHD_Result answer_as_http(struct MHD_Connection *connection, const char *endpoint)
{
    pawli_ack_content content = PAWLI_ACK_CONTENT_INIT;
    struct MHD_Response *response;

    if (strcmp(endpoint, "cut") == 0)
        return peer_server_answer(
            connection, 200,
            MHD_create_response_from_callback(1000, 512, cut_after_ten, NULL, NULL));
    if (strncmp(endpoint, "huge", 4) == 0)
        return peer_server_answer(
            connection, endpoint[4] ? 404 : 200,
            MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 65536, never_end, NULL, NULL));
    if (strcmp(endpoint, "nonsense") == 0)
        return peer_server_answer(connection, 200, response_of("ok", 2));
    if (strcmp(endpoint, "redirect") == 0) {
        response = response_of("", 0);
        MHD_add_response_header(response, "Location", "/other");
        return peer_server_answer(connection, 302, response);
    }
    content.error = "because";
    if (strcmp(endpoint, "date") == 0)
        return answer_ack(connection, 503, &content, "Sun, 06 Nov 1994 08:49:37 GMT");
    if (strcmp(endpoint, "trace") == 0) {
        const char *trace = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "traceparent");
        content.acknowledged = true;
        content.payload = trace ? trace : "none";
        content.payload_size = strlen(content.payload);
        return answer_ack(connection, 200, &content, NULL);
    }
    return answer_ack(connection, (int)strtol(endpoint, NULL, 10), &content, NULL);
}

/* ---- requests ---- */

/* Suspended until it is released; true: it waits. */
static bool block_request(test_peer *peer, http_request *request)
{
    http_server *server = peer->server;
    bool waits = false;

    pthread_mutex_lock(&peer->lock);
    if (!peer->released) {
        waits = true;
        request->waits = true;
        request->next = server->receipt;
        server->receipt = request;
        MHD_suspend_connection(request->connection);
    }
    pthread_mutex_unlock(&peer->lock);
    if (waits)
        peer_block(peer);
    return waits;
}

static enum MHD_Result decide(test_peer *peer, http_request *request, const char *path)
{
    pawl_envelope *envelope = NULL;
    enum MHD_Result result;

    if (strcmp(path, "/_rf/receive") != 0 ||
        pawl_envelope_decode(request->body.data, request->body.size, 0, &envelope, NULL) != PAWL_OK)
        return peer_server_answer(request->connection, 400, response_of("", 0));
    const char *endpoint = pawl_envelope_endpoint(envelope);
    const behaviour *how = behaviour_of(endpoint);
    if (strcmp(endpoint, "block") == 0 && block_request(peer, request))
        result = MHD_YES;
    else if (how)
        result = answer_as_all(request->connection, how, envelope);
    else
        result = answer_as_http(request->connection, endpoint);
    pawl_envelope_free(envelope);
    return result;
}

static enum MHD_Result peer_server_handle(void *context, struct MHD_Connection *connection,
                                          const char *url, const char *method, const char *version,
                                          const char *data, size_t *data_size, void **state)
{
    test_peer *peer = context;
    http_request *request = *state;

    (void)version;
    if (!request) {
        request = calloc(1, sizeof *request);
        if (!request)
            return MHD_NO;
        request->connection = connection;
        *state = request;
        pthread_mutex_lock(&peer->lock);
        peer->requests++;
        pthread_mutex_unlock(&peer->lock);
        return MHD_YES;
    }
    if (*data_size > 0) {
        pawli_buffer_append(&request->body, data, *data_size);
        *data_size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "POST") != 0)
        return peer_server_answer(connection, 405, response_of("", 0));
    return decide(peer, request, url);
}

static void forget_request(void *context, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode how)
{
    http_request *request = *state;

    (void)context;
    (void)connection;
    (void)how;
    if (!request)
        return;
    pawli_buffer_done(&request->body);
    free(request);
    *state = NULL;
}

static void count_connection(void *context, struct MHD_Connection *connection, void **state,
                             enum MHD_ConnectionNotificationCode how)
{
    test_peer *peer = context;

    (void)connection;
    (void)state;
    pthread_mutex_lock(&peer->lock);
    peer->connections += how == MHD_CONNECTION_NOTIFY_STARTED;
    pthread_mutex_unlock(&peer->lock);
}

/* ---- starting and stopping ---- */

static int listen_tcp(test_peer *peer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 1024) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        test_fail("no socket to listen on");
    peer->url = test_note("%s://127.0.0.1:%d", peer->kind, ntohs(address.sin_port));
    return fd;
}

static int listen_unix(test_peer *peer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *directory = test_directory();
    bool pipe = strcmp(peer->kind, "pipe") == 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", directory,
             pipe ? "CoreFxPipe_peer" : "peer.sock");
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, 1024) != 0)
        test_fail("no socket to listen on");
    peer->pipe_directory = directory;
    peer->url = pipe ? "pipe://peer" : test_note("unix://%s", address.sun_path);
    return fd;
}

static const char *write_file(const char *name, const char *text)
{
    const char *path = test_note("%s/%s", test_directory(), name);
    FILE *file = fopen(path, "we");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        test_fail("%s cannot be written", path);
    return path;
}

void server_start(test_peer *peer)
{
    http_server *server = calloc(1, sizeof *server);
    bool tls = strcmp(peer->kind, "https") == 0;
    const char *key = NULL, *certificate = NULL;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;

    if (!server)
        abort();
    peer->server = server;
    int fd = peer_is_tcp(peer) ? listen_tcp(peer) : listen_unix(peer);
    if (tls) {
        certificate_make(&key, &certificate);
        peer->ca_file = write_file("ca.pem", certificate);
        flags |= MHD_USE_TLS;
    }
    struct MHD_OptionItem options[] = {
        {tls ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, (void *)(uintptr_t)key},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)certificate},
        {MHD_OPTION_END, 0, NULL}};
    server->daemon = MHD_start_daemon(flags, 0, NULL, NULL, peer_server_handle, peer,
                                      MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED,
                                      forget_request, NULL, MHD_OPTION_NOTIFY_CONNECTION,
                                      count_connection, peer, MHD_OPTION_CONNECTION_LIMIT, 1000U,
                                      MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (!server->daemon)
        test_fail("the server does not start");
}

void server_release(test_peer *peer)
{
    http_server *server = peer->server;

    pthread_mutex_lock(&peer->lock);
    while (server->receipt) {
        http_request *request = server->receipt;
        server->receipt = request->next;
        request->waits = false;
        MHD_resume_connection(request->connection);
    }
    pthread_mutex_unlock(&peer->lock);
}

void server_stop(test_peer *peer)
{
    http_server *server = peer->server;

    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    free(server);
    peer->server = NULL;
}
