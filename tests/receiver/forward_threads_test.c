/* tests/receiver/forward_threads_test.c - messages that are posted to an application, and those
 * that come from a sender in the same process. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "inbox_fixture.h"
#include "receiver_fixture.h"
#include "transport_client.h"

#define ID "0190c5f0-0000-7000-8000-000000000001"

/* ---- an application: it keeps what was asked, and answers as the test says ---- */

typedef struct application {
    int fd;
    int port;
    const char *answers[4]; /* one connection each; NULL: the connection is closed */
    char asked[4][4096];
    _Atomic int count;
    pthread_t thread;
} application;

static void read_request(int fd, char *ret_text, size_t room)
{
    size_t used = 0;
    const char *head_end = NULL;
    size_t wanted = 0;

    while (used + 1 < room) {
        ssize_t got = recv(fd, ret_text + used, room - used - 1, 0);
        if (got <= 0)
            return;
        used += (size_t)got;
        ret_text[used] = '\0';
        head_end = strstr(ret_text, "\r\n\r\n");
        const char *length = strcasestr(ret_text, "Content-Length:");
        if (!head_end)
            continue;
        wanted = (size_t)(head_end - ret_text) + 4 + (length ? strtoul(length + 15, NULL, 10) : 0);
        if (used >= wanted)
            return;
    }
}

static void *answer_all(void *context)
{
    application *app = context;

    for (int i = 0; i < 4; i++) {
        int fd = accept(app->fd, NULL, NULL);
        if (fd < 0)
            break;
        read_request(fd, app->asked[i], sizeof app->asked[i]);
        app->count++;
        if (app->answers[i])
            client_say(fd, app->answers[i]);
        close(fd);
    }
    return NULL;
}

static void end_application(void *context)
{
    application *app = context;

    shutdown(app->fd, SHUT_RDWR);
    pthread_join(app->thread, NULL);
    close(app->fd);
    free(app);
}

static application *application_on(int fd)
{
    application *app = calloc(1, sizeof *app);

    assert_non_null(app);
    app->fd = fd;
    assert_int_equal(0, listen(fd, 8));
    return app;
}

static void application_run(application *app)
{
    assert_int_equal(0, pthread_create(&app->thread, NULL, answer_all, app));
    test_defer(end_application, app);
}

static application *application_tcp(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    application *app;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    app = application_on(fd);
    assert_int_equal(0, getsockname(fd, (struct sockaddr *)&address, &size));
    app->port = ntohs(address.sin_port);
    return app;
}

static receiver_fixture *forward_to(const char *url, const pawl_receive_options *opts)
{
    receiver_fixture *s = receiver_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_receiver_forward(s->receiver, NULL, url, opts, &err), &err);
    receiver_start(s);
    return s;
}

static const char *canned(int status, const char *body)
{
    return test_note("HTTP/1.1 %d Said\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                     status, strlen(body), body);
}

#define assert_asked(app, index, text)                                                             \
    do {                                                                                           \
        if (!strstr((app)->asked[index], (text)))                                                  \
            test_fail("'%s' is not in: %s", (text), (app)->asked[index]);                          \
    } while (0)

PAWL_TEST(the_application_gets_payload_key_and_attempt_and_its_body_is_the_response)
{
    application *app = application_tcp();
    receiver_fixture *s;
    reply *r;

    app->answers[0] = canned(503, "");
    app->answers[1] = canned(201, "\n {\"id\": 9}\r\n");
    application_run(app);
    s = forward_to(test_note("http://127.0.0.1:%d/orders?x=1", app->port), NULL);
    assert_int_equal(500, deliver(s, &(sample){.id = ID, .payload = "[ 1 ]"})->status);
    r = deliver(s, &(sample){.id = ID, .payload = "[ 1 ]"});
    assert_int_equal(200, r->status);
    assert_non_null(strstr(r->body, "\"payload\":{\"id\": 9}"));
    r = deliver(s, &(sample){.id = ID, .payload = "[ 1 ]"});
    assert_non_null(strstr(r->body, "\"duplicateDetected\":true"));
    assert_int_equal(2, app->count);
    assert_asked(app, 0, "POST /orders?x=1 HTTP/1.1\r\n");
    assert_asked(app, 0, "\r\nIdempotency-Key: shop:" ID "\r\n");
    assert_asked(app, 0, "\r\npawl-attempt: 1\r\n");
    assert_asked(app, 0, "\r\npawl-message-id: " ID "\r\n");
    assert_asked(app, 0, "\r\npawl-source: shop\r\n");
    assert_asked(app, 0, "\r\npawl-topic: order\r\n");
    assert_asked(app, 0, "\r\nContent-Type: application/json\r\n");
    assert_asked(app, 0, "\r\n\r\n[ 1 ]");
    assert_asked(app, 1, "\r\nIdempotency-Key: shop:" ID "\r\n");
    assert_asked(app, 1, "\r\npawl-attempt: 2\r\n");
}

PAWL_TEST(an_application_on_a_unix_socket)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = test_note("%s/app.sock", test_directory());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    application *app;
    receiver_fixture *s;

    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    app = application_on(fd);
    app->answers[0] = canned(204, "");
    application_run(app);
    s = forward_to(test_note("unix://%s:/in/box", path), NULL);
    assert_int_equal(200, deliver(s, &(sample){0})->status);
    assert_asked(app, 0, "POST /in/box HTTP/1.1\r\n");
}

PAWL_TEST(an_application_that_refuses_makes_it_dead)
{
    application *app = application_tcp();
    receiver_fixture *s;

    app->answers[0] = canned(429, "");
    app->answers[1] = canned(302, "");
    app->answers[2] = NULL;
    app->answers[3] = canned(400, "the payload again");
    application_run(app);
    s = forward_to(test_note("http://127.0.0.1:%d/", app->port), NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(500, deliver(s, &(sample){.id = ID})->status);
    assert_int_equal(422, deliver(s, &(sample){.id = ID})->status);
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(s->f, ID)->state);
    assert_string_equal("the application returned HTTP 400", inbox_record(s->f, ID)->error);
}

PAWL_TEST(an_application_that_is_down_is_retried)
{
    application *app = application_tcp();
    receiver_fixture *s = forward_to(test_note("http://127.0.0.1:%d/", app->port), NULL);

    close(app->fd);
    free(app);
    assert_int_equal(500, deliver(s, &(sample){.id = ID})->status);
    assert_non_null(strstr(inbox_record(s->f, ID)->error, "cannot reach the application"));
}

PAWL_TEST(an_application_that_never_responds_times_out)
{
    application *app = application_tcp(); /* it listens, and never accepts */
    pawl_receive_options options = PAWL_RECEIVE_OPTIONS_INIT;
    receiver_fixture *s;

    options.timeout_ms = 20;
    s = forward_to(test_note("http://127.0.0.1:%d/", app->port), &options);
    assert_int_equal(500, deliver(s, &(sample){.id = ID})->status);
    assert_non_null(strstr(inbox_record(s->f, ID)->error, "did not respond in time"));
    close(app->fd);
    free(app);
}

PAWL_TEST(invalid_urls_are_refused)
{
    receiver_fixture *s = receiver_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_INVALID, pawl_receiver_forward(s->receiver, NULL, "ftp://x", NULL, &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_receiver_forward(s->receiver, NULL, "unix://x", NULL, &err),
                  &err);
    assert_status(PAWL_E_INVALID,
                  pawl_receiver_forward(s->receiver, NULL, "unix:///x:y", NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_receiver_forward(s->receiver, NULL, NULL, NULL, &err), &err);
}

/* ---- a sender in the same process ---- */

typedef struct outcome {
    pawl_send_result sent;
    char payload[64];
    bool ended;
} outcome;

static void note_end(void *context, const pawl_send_report *given)
{
    outcome *o = context;

    o->sent = given->sent;
    snprintf(o->payload, sizeof o->payload, "%.*s", (int)given->payload_size,
             given->payload ? (const char *)given->payload : "");
    o->ended = true;
}

static outcome send_inproc(pawl_transports *transports, pawl_services *services,
                           const char *envelope_text)
{
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    pawli_transport_client *carrier = NULL;
    pawl_envelope *envelope = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    outcome o = {.sent = PAWL_SEND_CANCELLED};

    assert_ok(pawl_envelope_decode(envelope_text, strlen(envelope_text), 0, &envelope, &err), &err);
    assert_ok(pawli_transport_client_open(transports, &carrier, &err), &err);
    request.url = "inproc://store";
    request.service = pawl_services_at(services, 0);
    request.envelope = envelope;
    assert_ok(pawli_transport_client_send(carrier, &request, note_end, &o, NULL, &err), &err);
    while (!o.ended)
        assert_ok(pawli_transport_client_process(carrier, &err), &err);
    pawli_transport_client_close(carrier);
    pawl_envelope_free(envelope);
    return o;
}

PAWL_TEST(a_sender_in_the_same_process_needs_no_signature)
{
    pawl_transports *transports = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    receiver_fixture *s = receiver_open(NULL);
    controlled_handler p;
    outcome o;
    const char *text;

    controlled_handler_init(&p, s);
    p.writes = true;
    p.response = "[5]";
    assert_ok(pawl_receiver_handle(s->receiver, "order", PAWL_RECEIVE_ATOMIC, controlled_handle, &p,
                                   NULL, &err),
              &err);
    receiver_start(s);
    assert_ok(pawl_transports_new(NULL, &transports, &err), &err);
    assert_ok(
        pawl_transports_add_inproc(transports, "store", 2, pawl_receiver_inproc, s->receiver, &err),
        &err);
    text = sample_text(s, &(sample){.is_unsigned = true});
    o = send_inproc(transports, s->services, text);
    assert_string_equal("acknowledged", pawl_send_result_name(o.sent));
    assert_string_equal("[5]", o.payload);
    o = send_inproc(transports, s->services, text);
    assert_string_equal("duplicate", pawl_send_result_name(o.sent));
    o = send_inproc(transports, s->services, sample_text(s, &(sample){.topic = "other"}));
    assert_string_equal("rejected", pawl_send_result_name(o.sent));
    p.result = PAWL_RETRY;
    o = send_inproc(transports, s->services, sample_text(s, &(sample){0}));
    assert_string_equal("retry", pawl_send_result_name(o.sent));
    assert_int_equal(1, inbox_orders(s->f));
    pawl_receiver_stop(s->receiver);
    o = send_inproc(transports, s->services, sample_text(s, &(sample){0}));
    assert_string_equal("retry", pawl_send_result_name(o.sent));
    pawl_transports_free(transports);
}
