/* src/transport/http/http_private.h - an instance and its sends. Used by one thread at a time. */
#ifndef PAWLI_HTTP_PRIVATE_H
#define PAWLI_HTTP_PRIVATE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <sys/un.h>

#include <pawl/clock.h>

#include "buffer.h"
#include "http.h"

typedef struct pawli_http pawli_http;

typedef struct pawli_http_send {
    pawli_http *http;
    CURL *easy;
    struct curl_slist *headers;
    pawli_buffer body;
    curl_off_t request_size;
    const char *service_name; /* the map's, which outlives the send */
    size_t body_max;
    bool body_too_long;
    bool public_only;     /* connections to private addresses are not allowed */
    bool private_refused; /* and one was attempted */
    bool cancelled;
    char unix_socket[sizeof((struct sockaddr_un *)0)->sun_path]; /* "": over TCP */
    char problem[CURL_ERROR_SIZE];                               /* libcurl's error text */
    pawl_send_end end;
    void *context;
    struct pawli_http_send *previous;
    struct pawli_http_send *next;
} pawli_http_send;

struct pawli_http {
    const pawli_http_settings *settings;
    CURLM *multi;
    int epoll;
    bool timer_set;
    pawl_mono timer; /* when libcurl must be called */
    pawli_http_send *sends;
    int cancelled; /* sends that the next perform() must end */
    CURL *spare;   /* an easy handle for the next send; may be NULL */
};

/* A send that is ready to be added to the multi handle. */
pawl_status pawli_http_send_new(pawli_http *http, const pawl_send_request *request,
                                pawl_send_end end, void *context, pawli_http_send **ret_send,
                                pawl_error *err);
/* It has been removed from the multi handle. */
void pawli_http_send_free(pawli_http_send *send);
/* Reports its result. */
void pawli_http_send_finish(pawli_http_send *send, CURLcode code);
void pawli_http_send_finish_cancelled(pawli_http_send *send);

#endif
