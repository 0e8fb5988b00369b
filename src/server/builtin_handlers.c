/* src/server/builtin_handlers.c - built-in handlers: enqueue, and forward over HTTP. */
#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <pawl/outbox.h>

#include "fail.h"
#include "options.h"
#include "receiver_private.h"
#include "scope.h"

/* ---- the enqueue handler: stores received messages in the outbox, in the inbox's transaction
 * ---- */

typedef struct target {
    char *topic;       /* NULL: the topic of the received message */
    char *destination; /* NULL: for a local handler */
} target;

static void target_free(void *context)
{
    target *to = context;

    if (!to)
        return;
    free(to->topic);
    free(to->destination);
    free(to);
}

static pawl_result enqueue_handler_enqueue(pawl_receive_task *task, void *context)
{
    const target *to = context;
    const pawl_envelope *envelope = pawl_receive_task_envelope(task);
    const char *correlation = pawl_envelope_correlation_id(envelope);
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    message.topic = to->topic ? to->topic : pawl_envelope_endpoint(envelope);
    message.destination = to->destination;
    message.payload = pawl_envelope_payload(envelope, &message.payload_size);
    message.type = pawl_envelope_type(envelope);
    message.headers = pawl_envelope_headers(envelope);
    message.correlation_id = correlation ? correlation : pawl_envelope_id(envelope);
    if (pawl_tx_enqueue(pawl_receive_task_tx(task), &message, NULL, &err) == PAWL_OK)
        return PAWL_DONE;
    pawl_receive_task_set_error(task, err.message);
    return err.status == PAWL_E_INVALID || err.status == PAWL_E_TOO_LARGE ? PAWL_FAIL : PAWL_RETRY;
}

static bool enqueue_handler_copy(const char *text, char **ret_copy)
{
    *ret_copy = text ? strdup(text) : NULL;
    return !text || *ret_copy;
}

pawl_status pawl_receiver_enqueue(pawl_receiver *receiver, const char *topic, const char *to_topic,
                                  const char *destination, const pawl_receive_options *opts,
                                  pawl_error *err)
{
    pawl_receive_options options = PAWL_RECEIVE_OPTIONS_INIT;
    target *to;
    pawl_status st;

    st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st != PAWL_OK)
        return st;
    options.free = target_free;
    to = calloc(1, sizeof *to);
    if (!to || !enqueue_handler_copy(to_topic, &to->topic) ||
        !enqueue_handler_copy(destination, &to->destination))
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for the handler");
    else
        st = pawl_receiver_handle(receiver, topic, PAWL_RECEIVE_ATOMIC, enqueue_handler_enqueue, to,
                                  &options, err);
    if (st != PAWL_OK)
        target_free(to);
    return st;
}

/* ---- the forward handler: posts received messages to an application on this machine ---- */

#define IDLE_MAX 64

typedef struct application {
    char *url;         /* in curl's format */
    char *unix_socket; /* NULL: over TCP */
    pthread_mutex_t lock;
    CURL *idle[IDLE_MAX]; /* curl handles with their connections, for reuse */
    size_t idle_count;
} application;

/* One forwarded call. */
typedef struct call {
    pawl_receive_task *task;
    pawli_buffer body;
    size_t most;
    bool too_large;
} call;

static void application_free(void *context)
{
    application *app = context;

    if (!app)
        return;
    while (app->idle_count > 0)
        curl_easy_cleanup(app->idle[--app->idle_count]);
    pthread_mutex_destroy(&app->lock);
    free(app->url);
    free(app->unix_socket);
    free(app);
}

/* ---- the request ---- */

/* Whether it is valid as a header value: a line break would end the header. */
static bool fits_header(const char *value)
{
    for (; *value; value++)
        if ((unsigned char)*value < 0x20 || *value == 0x7f)
            return false;
    return true;
}

static bool forward_add_header(struct curl_slist **list, const char *name, const char *value)
{
    PAWLI_AUTO_FREE char *line = NULL;
    struct curl_slist *longer;

    if (!value || !fits_header(value))
        return true;
    if (asprintf(&line, "%s: %s", name, value) < 0) {
        line = NULL;
        return false;
    }
    longer = curl_slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

static bool add_number(struct curl_slist **list, const char *name, int64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)number);
    return forward_add_header(list, name, text);
}

static struct curl_slist *make_headers(pawl_receive_task *task)
{
    const pawl_envelope *envelope = pawl_receive_task_envelope(task);
    struct curl_slist *list = NULL;
    bool is_json = pawl_envelope_payload_is_json(envelope);

    if (forward_add_header(&list, "Content-Type",
                           is_json ? "application/json" : "application/octet-stream") &&
        forward_add_header(&list, "Expect", "") && /* send the body without waiting for
                                                    * 100-continue */
        forward_add_header(&list, "Idempotency-Key", pawl_receive_task_key(task)) &&
        forward_add_header(&list, "pawl-message-id", pawl_envelope_id(envelope)) &&
        forward_add_header(&list, "pawl-source", pawl_envelope_source(envelope)) &&
        forward_add_header(&list, "pawl-topic", pawl_envelope_endpoint(envelope)) &&
        forward_add_header(&list, "pawl-type", pawl_type_wire_name(pawl_envelope_type(envelope))) &&
        forward_add_header(&list, "pawl-correlation-id", pawl_envelope_correlation_id(envelope)) &&
        add_number(&list, "pawl-attempt", pawl_receive_task_attempt(task)) &&
        add_number(&list, "pawl-fence", pawl_receive_task_fence(task)) &&
        forward_add_header(&list, "traceparent", pawl_envelope_traceparent(envelope)) &&
        forward_add_header(&list, "tracestate", pawl_envelope_tracestate(envelope)))
        return list;
    curl_slist_free_all(list);
    return NULL;
}

/* ---- the response ---- */

static size_t forward_take_body(char *bytes, size_t one, size_t size, void *context)
{
    call *c = context;

    (void)one;
    if (c->body.size + size > c->most) {
        c->too_large = true;
        return 0;
    }
    pawli_buffer_append(&c->body, bytes, size);
    return c->body.failed ? 0 : size;
}

static int forward_go_on(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return pawl_receive_task_cancelled(((call *)context)->task);
}

static pawl_result forward_explain(pawl_receive_task *task, pawl_result result, const char *format,
                                   ...) PAWL_PRINTF(3, 4);
static pawl_result forward_explain(pawl_receive_task *task, pawl_result result, const char *format,
                                   ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pawl_receive_task_set_error(task, text);
    return result;
}

/* Trims white space around JSON, so that it is passed on as JSON. */
static void trim_json(pawli_buffer *body, const char *type)
{
    size_t before = 0;

    if (!type || strncasecmp(type, "application/json", 16) != 0)
        return;
    while (body->size > 0 && strchr(" \t\r\n", body->data[body->size - 1]))
        body->size--;
    while (before < body->size && strchr(" \t\r\n", body->data[before]))
        before++;
    body->size -= before;
    if (before > 0)
        memmove(body->data, body->data + before, body->size);
}

/* The response body is not part of the error text: it may repeat the payload. */
static pawl_result forward_result(call *c, long status)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool later = status == 408 || status == 409 || status == 425 || status == 429;

    if (status >= 400 && status < 500 && !later)
        return forward_explain(c->task, PAWL_FAIL, "the application returned HTTP %ld", status);
    if (status < 200 || status > 299)
        return forward_explain(c->task, PAWL_RETRY, "the application returned HTTP %ld", status);
    if (c->body.size > 0 &&
        pawl_receive_task_respond(c->task, c->body.data, c->body.size, &err) != PAWL_OK)
        return forward_explain(c->task, PAWL_RETRY, "%s", err.message);
    return PAWL_DONE;
}

static void forward_set_up(CURL *curl, const application *app, call *c, struct curl_slist *headers)
{
    size_t size;
    const void *payload = pawl_envelope_payload(pawl_receive_task_envelope(c->task), &size);

    curl_easy_setopt(curl, CURLOPT_URL, app->url);
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, app->unix_socket);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, payload);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, forward_take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, forward_go_on);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, c);
}

static pawl_result forward_perform(const application *app, call *c, CURL *curl,
                                   struct curl_slist *headers)
{
    CURLcode code;
    const char *type = NULL;
    long status = 0;

    forward_set_up(curl, app, c, headers);
    code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (c->too_large)
        return forward_explain(c->task, PAWL_RETRY,
                               "the application's response is larger than %zu bytes", c->most);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return forward_explain(c->task, PAWL_RETRY, "the application did not respond in time");
    if (code != CURLE_OK)
        return forward_explain(c->task, PAWL_RETRY, "cannot reach the application: %s",
                               curl_easy_strerror(code));
    curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    trim_json(&c->body, type);
    return forward_result(c, status);
}

static CURL *take_handle(application *app)
{
    CURL *curl = NULL;

    pthread_mutex_lock(&app->lock);
    if (app->idle_count > 0)
        curl = app->idle[--app->idle_count];
    pthread_mutex_unlock(&app->lock);
    return curl ? curl : curl_easy_init();
}

static void forward_give_back(application *app, CURL *curl)
{
    if (!curl)
        return;
    curl_easy_reset(curl);
    pthread_mutex_lock(&app->lock);
    if (app->idle_count < IDLE_MAX) {
        app->idle[app->idle_count++] = curl;
        curl = NULL;
    }
    pthread_mutex_unlock(&app->lock);
    curl_easy_cleanup(curl);
}

static pawl_result forward(pawl_receive_task *task, void *context)
{
    call c = {.task = task, .most = task->receiver->options.max_response_bytes};
    struct curl_slist *headers = make_headers(task);
    CURL *curl = take_handle(context);
    pawl_result result;

    if (curl && headers)
        result = forward_perform(context, &c, curl, headers);
    else
        result = forward_explain(task, PAWL_RETRY, "out of memory for the call");
    forward_give_back(context, curl);
    curl_slist_free_all(headers);
    pawli_buffer_done(&c.body);
    return result;
}

/* ---- the application's URL ---- */

/* "unix:///run/app.sock:/path" is a socket and an HTTP path; the default path is "/". */
static bool parse_unix(const char *place, application *app)
{
    const char *colon = strrchr(place, ':');
    size_t length = colon ? (size_t)(colon - place) : strlen(place);

    app->unix_socket = strndup(place, length);
    if (asprintf(&app->url, "http://localhost%s", colon ? colon + 1 : "/") < 0)
        app->url = NULL;
    return app->unix_socket && app->url;
}

static pawl_status forward_parse(const char *url, application *app, pawl_error *err)
{
    static const char unix_scheme[] = "unix://";
    const char *place = url + sizeof unix_scheme - 1;
    bool copied;

    if (strncmp(url, unix_scheme, sizeof unix_scheme - 1) == 0) {
        const char *colon = strrchr(place, ':');
        if (*place != '/' || (colon && colon[1] != '/'))
            return pawli_fail(err, PAWL_E_INVALID,
                              "invalid unix URL: use unix:///run/app.sock:/path");
        copied = parse_unix(place, app);
    } else if (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0) {
        copied = (app->url = strdup(url)) != NULL;
    } else {
        return pawli_fail(err, PAWL_E_INVALID,
                          "the application's URL must begin with http://, https:// or unix://");
    }
    return copied ? PAWL_OK : pawli_fail(err, PAWL_E_NOMEM, "out of memory for the handler");
}

pawl_status pawl_receiver_forward(pawl_receiver *receiver, const char *topic, const char *url,
                                  const pawl_receive_options *opts, pawl_error *err)
{
    pawl_receive_options options = PAWL_RECEIVE_OPTIONS_INIT;
    application *app;
    pawl_status st;

    if (!url)
        return pawli_fail(err, PAWL_E_INVALID, "url must not be NULL");
    st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st != PAWL_OK)
        return st;
    options.free = application_free;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    app = calloc(1, sizeof *app);
    if (app)
        pthread_mutex_init(&app->lock, NULL);
    st = app ? forward_parse(url, app, err) : pawli_fail(err, PAWL_E_NOMEM, "out of memory");
    if (st == PAWL_OK)
        st = pawl_receiver_handle(receiver, topic, PAWL_RECEIVE_CALL_OUT, forward, app, &options,
                                  err);
    if (st != PAWL_OK)
        application_free(app);
    return st;
}
