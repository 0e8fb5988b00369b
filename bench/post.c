/* bench/post.c - libcurl posts to libmicrohttpd: what the network alone costs, without a database.
 */
#include "post.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <curl/curl.h>
#include <microhttpd.h>

#include "basics.h"

#define SERVER_THREADS 2 /* as many as pawl's receiver has */
#define POLL_MS 1000

struct post {
    struct MHD_Daemon *server;
    CURLM *client;
    CURL **requests;
    int in_flight;
    struct curl_slist *headers;
    char directory[40], path[64], url[64];
};

/* ---- the server ---- */

/* It reads the body to its end and answers; the first call of a request only marks it as begun. */
static enum MHD_Result post_answer(void *context, struct MHD_Connection *connection,
                                   const char *url, const char *method, const char *version,
                                   const char *data, size_t *size, void **request)
{
    static char begun, text[] = "{\"status\":\"ok\"}";
    struct MHD_Response *response;
    enum MHD_Result result;

    (void)context, (void)url, (void)method, (void)version, (void)data;
    if (!*request || *size > 0) {
        *request = &begun;
        *size = 0;
        return MHD_YES;
    }
    response = MHD_create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);
    result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static int listen_unix(post *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(self->directory, sizeof self->directory, "/tmp/pawl-bench-XXXXXX");
    if (!mkdtemp(self->directory))
        die("no directory for a socket");
    snprintf(self->path, sizeof self->path, "%s/socket", self->directory);
    memcpy(address.sun_path, self->path, strlen(self->path) + 1);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("no socket for the server without a database");
    snprintf(self->url, sizeof self->url, "http://localhost/");
    return fd;
}

static int listen_tcp(post *self)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        die("no port for the server without a database");
    snprintf(self->url, sizeof self->url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    return fd;
}

static void start_server(post *self, bool over_unix)
{
    int fd = over_unix ? listen_unix(self) : listen_tcp(self);

    if (listen(fd, SOMAXCONN) != 0)
        die("the server without a database cannot listen");
    self->server = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, post_answer, NULL,
                                    MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
                                    (unsigned)SERVER_THREADS, MHD_OPTION_END);
    if (!self->server)
        die("libmicrohttpd does not start");
}

/* ---- the client ---- */

static size_t ignore(char *data, size_t size, size_t count, void *context)
{
    (void)data, (void)context;
    return size * count;
}

static CURL *request_new(const post *self)
{
    CURL *request = curl_easy_init();

    if (!request)
        die("out of memory");
    curl_easy_setopt(request, CURLOPT_URL, self->url);
    if (self->path[0])
        curl_easy_setopt(request, CURLOPT_UNIX_SOCKET_PATH, self->path);
    curl_easy_setopt(request, CURLOPT_PROXY, "");
    curl_easy_setopt(request, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(request, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(request, CURLOPT_HTTPHEADER, self->headers);
    curl_easy_setopt(request, CURLOPT_POSTFIELDS, (const char *)bench_payload);
    curl_easy_setopt(request, CURLOPT_POSTFIELDSIZE, (long)bench_payload_size);
    curl_easy_setopt(request, CURLOPT_WRITEFUNCTION, ignore);
    return request;
}

post *post_open(bool over_unix, int in_flight)
{
    post *self = allocate(1, sizeof *self);

    curl_global_init(CURL_GLOBAL_DEFAULT);
    start_server(self, over_unix);
    self->in_flight = in_flight;
    self->client = curl_multi_init();
    self->headers = curl_slist_append(NULL, "Content-Type: application/json");
    self->requests = allocate((size_t)in_flight, sizeof *self->requests);
    if (!self->client || !self->headers)
        die("out of memory");
    curl_multi_setopt(self->client, CURLMOPT_MAXCONNECTS, (long)in_flight);
    for (int i = 0; i < in_flight; i++)
        self->requests[i] = request_new(self);
    return self;
}

void post_close(post *self)
{
    if (!self)
        return;
    for (int i = 0; i < self->in_flight; i++)
        curl_easy_cleanup(self->requests[i]);
    curl_multi_cleanup(self->client);
    curl_slist_free_all(self->headers);
    MHD_stop_daemon(self->server);
    if (self->path[0]) {
        unlink(self->path);
        rmdir(self->directory);
    }
    free(self->requests);
    free(self);
}

/* Those that are answered: begun anew, or kept for the next round. Answers how many there were. */
static int64_t collect(post *self, bool again)
{
    CURLMsg *message;
    int64_t count = 0;
    int left = 0;

    while ((message = curl_multi_info_read(self->client, &left))) {
        CURL *request = message->easy_handle;
        CURLcode result = message->data.result;
        long status = 0;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(request, CURLINFO_RESPONSE_CODE, &status);
        if (result != CURLE_OK || status != MHD_HTTP_OK)
            die("a post without a database: %s, status %ld", curl_easy_strerror(result), status);
        curl_multi_remove_handle(self->client, request);
        if (again)
            curl_multi_add_handle(self->client, request);
        count++;
    }
    return count;
}

double post_round(void *context, double duration)
{
    post *self = context;
    double begin = seconds_now();
    int64_t count = 0;
    int running = 1;

    for (int i = 0; i < self->in_flight; i++)
        curl_multi_add_handle(self->client, self->requests[i]);
    while (running > 0) {
        bool again = seconds_now() - begin < duration;

        if (curl_multi_perform(self->client, &running) != CURLM_OK)
            die("libcurl does not go on");
        count += collect(self, again);
        if (again)
            running = self->in_flight;
        if (running > 0 && curl_multi_poll(self->client, NULL, 0, POLL_MS, NULL) != CURLM_OK)
            die("libcurl does not wait");
    }
    return (double)count / (seconds_now() - begin);
}
