/* src/transport/http/http.c - many concurrent requests on one thread, behind one descriptor.
 *
 * libcurl reports the sockets it waits for and when it must be called; an epoll descriptor
 * contains the sockets, and is what the user waits for. */
#include "http.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <pawl/pawl.h>

#include "fail.h"
#include "http_private.h"
#include "scope.h"
#include "platform.h"

#define EVENTS 64

/* ---- settings ---- */

static void free_settings(void *self)
{
    pawli_http_settings *settings = self;

    free(settings->pipe_directory);
    free(settings->user_agent);
    free(settings);
}

pawl_status pawli_http_settings_new(const pawl_transports_options *opts,
                                    pawli_http_settings **ret_settings, pawl_error *err)
{
    pawli_http_settings *settings = calloc(1, sizeof *settings);

    if (!settings)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transports");
    settings->idle_connections = opts->idle_connections;
    settings->connections_per_host_port = opts->connections_per_host_port;
    settings->user_agent = strdup(opts->user_agent ? opts->user_agent : "pawl/" PAWL_VERSION);
    if (opts->pipe_directory)
        settings->pipe_directory = strdup(opts->pipe_directory);
    if (!settings->user_agent || (opts->pipe_directory && !settings->pipe_directory)) {
        free_settings(settings);
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transports");
    }
    *ret_settings = settings;
    return PAWL_OK;
}

/* ---- libcurl's sockets and timer ---- */

/* A failure here shows up as a timeout of the send; libcurl provides no way to report it. */
static int http_watch(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    pawli_http *http = context;
    struct epoll_event event = {0};

    (void)easy;
    event.data.fd = fd;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(http->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN)
        event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        event.events |= EPOLLOUT;
    if (epoll_ctl(http->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0 &&
        (errno == ENOENT || errno == EEXIST))
        epoll_ctl(http->epoll, errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    curl_multi_assign(http->multi, fd, http); /* marks the socket as known for the next call */
    return 0;
}

static int http_set_timer(CURLM *multi, long timeout_ms, void *context)
{
    pawli_http *http = context;

    (void)multi;
    http->timer_set = timeout_ms >= 0;
    if (http->timer_set)
        http->timer = pawli_mono_after(pawli_mono_now(), (int64_t)timeout_ms * 1000);
    return 0;
}

/* ---- an instance ---- */

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static CURLcode curl_started;

static void start_curl(void)
{
    curl_started = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void leave_list(pawli_http_send *send)
{
    if (send->previous)
        send->previous->next = send->next;
    else
        send->http->sends = send->next;
    if (send->next)
        send->next->previous = send->previous;
}

static void enter_list(pawli_http_send *send)
{
    send->previous = NULL;
    send->next = send->http->sends;
    if (send->next)
        send->next->previous = send;
    send->http->sends = send;
}

static void unlink_send(pawli_http_send *send)
{
    leave_list(send);
    send->http->cancelled -= send->cancelled;
    curl_multi_remove_handle(send->http->multi, send->easy);
}

static void close_http(void *instance)
{
    pawli_http *http = instance;

    if (!http)
        return;
    while (http->sends) {
        pawli_http_send *send = http->sends;
        unlink_send(send);
        pawli_http_send_finish_cancelled(send);
    }
    curl_easy_cleanup(http->spare);
    curl_multi_cleanup(http->multi);
    if (http->epoll >= 0)
        close(http->epoll);
    free(http);
}
PAWLI_AUTO_DEFINE(pawli_http, close_http);

static CURLMcode http_set_up(pawli_http *http)
{
    CURLMcode code = curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, http_watch);

    if (code == CURLM_OK)
        code = curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    if (code == CURLM_OK)
        code = curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, http_set_timer);
    if (code == CURLM_OK)
        code = curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    if (code == CURLM_OK)
        code = curl_multi_setopt(http->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    if (code == CURLM_OK)
        code = curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS,
                                 (long)http->settings->idle_connections);
    if (code == CURLM_OK)
        code = curl_multi_setopt(http->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                                 (long)http->settings->connections_per_host_port);
    return code;
}

static pawl_status open_http(void *self, void **ret_instance, pawl_error *err)
{
    PAWLI_AUTO(pawli_http) http = NULL;

    pthread_once(&curl_once, start_curl);
    if (curl_started != CURLE_OK)
        return pawli_fail(err, PAWL_E_IO, "cannot initialize libcurl: %s",
                          curl_easy_strerror(curl_started));
    http = calloc(1, sizeof *http);
    if (!http)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a transport");
    http->settings = self;
    http->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (http->epoll < 0)
        return pawli_fail_code(err, PAWL_E_IO, errno,
                               "no file descriptor is available for a transport: raise the limit "
                               "of open files (ulimit -n)");
    http->multi = curl_multi_init();
    if (!http->multi || http_set_up(http) != CURLM_OK)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a transport");
    *ret_instance = pawli_http_take(&http);
    return PAWL_OK;
}

static pawl_status send_http(void *instance, const pawl_send_request *request, pawl_send_end end,
                             void *context, void **ret_send, pawl_error *err)
{
    pawli_http *http = instance;
    pawli_http_send *send = NULL;
    pawl_status st = pawli_http_send_new(http, request, end, context, &send, err);

    if (st != PAWL_OK)
        return st;
    CURLMcode code = curl_multi_add_handle(http->multi, send->easy);
    if (code != CURLM_OK) {
        pawli_http_send_free(send);
        return pawli_fail_code(err, PAWL_E_NOMEM, (int)code, "libcurl rejects the request: %s",
                               curl_multi_strerror(code));
    }
    enter_list(send);
    *ret_send = send;
    return PAWL_OK;
}

static void cancel_http(void *instance, void *token)
{
    pawli_http_send *send = token;
    pawli_http *http = instance;

    http->cancelled += !send->cancelled;
    send->cancelled = true;
    leave_list(send);
    enter_list(send); /* to the front, where the next perform() starts */
}

static int fd_http(void *instance)
{
    return ((pawli_http *)instance)->epoll;
}

static int64_t timeout_http(void *instance)
{
    pawli_http *http = instance;

    if (http->cancelled > 0)
        return 0;
    return http->timer_set ? pawli_mono_left_ms(http->timer) : -1;
}

/* ---- one perform() ---- */

/* Starts over each time, because `end` may cancel other sends. */
static void end_cancelled(pawli_http *http)
{
    while (http->cancelled > 0) {
        pawli_http_send *send = http->sends;
        while (send && !send->cancelled)
            send = send->next;
        if (!send)
            return;
        unlink_send(send);
        pawli_http_send_finish_cancelled(send);
    }
}

static void end_finished(pawli_http *http)
{
    const CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(http->multi, &left))) {
        CURLcode code = message->data.result; /* invalid once the handle is removed */
        char *found = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &found);
        pawli_http_send *send = (pawli_http_send *)(void *)found;
        unlink_send(send);
        pawli_http_send_finish(send, code);
    }
}

static CURLMcode http_act(pawli_http *http)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(http->epoll, events, EVENTS, 0);
    CURLMcode code = CURLM_OK;
    int running;

    for (int i = 0; i < count && code == CURLM_OK; i++) {
        int mask = 0;
        if (events[i].events & EPOLLIN)
            mask |= CURL_CSELECT_IN;
        if (events[i].events & EPOLLOUT)
            mask |= CURL_CSELECT_OUT;
        if (events[i].events & (EPOLLERR | EPOLLHUP))
            mask |= CURL_CSELECT_ERR;
        code = curl_multi_socket_action(http->multi, events[i].data.fd, mask, &running);
    }
    if (code == CURLM_OK && http->timer_set && pawli_mono_passed(http->timer)) {
        http->timer_set = false; /* libcurl sets the next one itself */
        code = curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    return code;
}

static pawl_status process_http(void *instance, pawl_error *err)
{
    pawli_http *http = instance;

    end_cancelled(http);
    CURLMcode code = http_act(http);
    end_finished(http);
    if (code == CURLM_OUT_OF_MEMORY)
        return pawli_fail_code(err, PAWL_E_NOMEM, (int)code,
                               "out of memory for requests in flight");
    if (code != CURLM_OK)
        return pawli_fail_code(err, PAWL_E_IO, (int)code, "libcurl: %s", curl_multi_strerror(code));
    return PAWL_OK;
}

#define HTTP_TRANSPORT(scheme, free_self)                                                          \
    {                                                                                              \
        PAWL_TRANSPORT_VERSION, scheme, open_http, send_http, cancel_http, fd_http, timeout_http,  \
            process_http, close_http, free_self                                                    \
    }
const pawl_transport pawli_http_transports[4] = {
    HTTP_TRANSPORT("http", free_settings), HTTP_TRANSPORT("https", NULL),
    HTTP_TRANSPORT("unix", NULL), HTTP_TRANSPORT("pipe", NULL)};
