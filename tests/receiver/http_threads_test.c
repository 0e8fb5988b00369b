/* tests/receiver/http_threads_test.c - requests that are too large, too slow, too many, or two in
 * one. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "inbox_fixture.h"
#include "receiver_fixture.h"

#define HEALTH "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"

/* ---- requests that are refused ---- */

/* This status, and then the end: what follows on the connection is never read as a request. */
static void assert_refused(receiver_fixture *s, int status, const char *request)
{
    int fd = client_connect(s);
    const char *answer;

    client_say(fd, request);
    client_say(fd, HEALTH);
    answer = client_read_all(fd);
    if (strncmp(answer, test_note("HTTP/1.1 %d ", status), 13) != 0)
        test_fail("not %d for: %s: %s", status, request, answer);
    if (strstr(answer, "ready") || !strstr(answer, "Connection: close"))
        test_fail("it was not the last request: %s: %s", request, answer);
    client_close(fd);
}

PAWL_TEST_ON(one_engine, ambiguous_requests_are_refused)
{
    static const char *const heads[] = {
        "Host: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n",
        "Host: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n",
        "Host: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Host: x\r\nContent-Length : 2\r\n",
        "Host: x\r\nContent-Length: +2\r\n",
        "Host: x\r\nContent-Length: 0x2\r\n",
        "Host: x\r\nContent-Length: 2, 2\r\n",
        "Host: x\r\nContent-Length: -2\r\n",
        "Host: x\r\nTransfer-Encoding : chunked\r\n",
        "Host: x\r\nTransfer-Encoding: gzip, chunked\r\n",
        "Host: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Host: x\r\nTransfer-Encoding: xchunked\r\n",
        "Content-Length: 2\r\n",
        "Host: x\r\nHost: y\r\nContent-Length: 2\r\n",
        "Host: x\r\nContent-Length: 2\r\nX\x01Y: 1\r\n",
    };
    receiver_fixture *s = receiver_open_accepting(NULL);

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        assert_refused(s, 400,
                       test_note("POST /_rf/receive HTTP/1.1\r\nContent-Type: application/json\r\n"
                                 "%s\r\n{}",
                                 heads[i]));
    assert_refused(s, 400,
                   "POST /_rf/receive HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
    assert_int_equal(0, inbox_count(s));
}

PAWL_TEST_ON(one_engine, other_paths_methods_and_types_are_refused)
{
    receiver_fixture *s = receiver_open_accepting(NULL);

    assert_refused(s, 404, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_refused(s, 404, "GET /_rf/receive/ HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_refused(s, 405, "GET /_rf/receive HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_refused(s, 405, "DELETE /health HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_refused(s, 415, "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
    assert_refused(s, 415,
                   "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
                   "Content-Length: 2\r\n\r\n{}");
    assert_refused(s, 415,
                   "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/jsonx\r\n"
                   "Content-Length: 2\r\n\r\n{}");
    assert_refused(s, 415,
                   "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}");
}

/* ---- too large ---- */

PAWL_TEST_ON(one_engine, oversized_requests_are_refused)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    receiver_fixture *s;
    int fd;

    options.max_body_bytes = 1024;
    options.max_header_bytes = 4096;
    s = receiver_open_accepting(&options);
    assert_refused(s, 413,
                   "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Content-Length: 1025\r\n\r\n");
    assert_refused(s, 413,
                   "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Content-Length: 999999999999999999\r\n\r\n");
    fd = client_connect(s);
    client_say(fd, "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n");
    client_say(fd, test_note("400\r\n%01024d\r\n400\r\n%01024d\r\n0\r\n\r\n", 1, 1));
    assert_int_equal(413, client_read(fd)->status);
    fd = client_connect(s);
    client_say(fd, test_note("GET /health HTTP/1.1\r\nHost: x\r\nX: %08000d\r\n\r\n", 1));
    assert_int_equal(431, client_read(fd)->status);
    assert_int_equal(0, inbox_count(s));
}

PAWL_TEST_ON(one_engine, a_request_beyond_the_memory_limit_is_asked_to_retry)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    receiver_fixture *s;
    char *half = calloc(1, 600 * 1024 + 1);
    int first;
    int second;

    assert_non_null(half);
    test_defer(free, half);
    memset(half, ' ', 600 * 1024);
    options.max_buffered_bytes = 1024 * 1024;
    s = receiver_open_accepting(&options);
    first = client_connect(s);
    second = client_connect(s);
    for (int i = 0; i < 2; i++)
        client_say(i ? second : first,
                   "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Content-Length: 614401\r\n\r\n");
    client_say(first, half);
    client_say(second, half);
    client_say(second, "x");
    client_say(first, "x");
    int one = client_read(first)->status;
    int other = client_read(second)->status;
    assert_true((one == 429 && other == 400) || (one == 400 && other == 429) ||
                (one == 429 && other == 429));
    assert_int_equal(200, deliver(s, &(sample){0})->status);
}

PAWL_TEST_ON(one_engine, a_body_in_chunks_is_taken)
{
    receiver_fixture *s = receiver_open_accepting(NULL);
    const char *text = sample_text(s, &(sample){0});
    int fd = client_connect(s);

    client_say(fd, "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                   "Content-Type: Application/JSON; charset=utf-8\r\n\r\n");
    client_say(fd,
               test_note("5\r\n%.5s\r\n%zx\r\n%s\r\n0\r\n\r\n", text, strlen(text) - 5, text + 5));
    assert_int_equal(200, client_read(fd)->status);
}

/* ---- one after the other ---- */

PAWL_TEST_ON(one_engine, pipelined_requests_get_their_responses_in_order)
{
    receiver_fixture *s = receiver_open_accepting(NULL);
    const char *text = sample_text(s, &(sample){0});
    int fd = client_connect(s);

    client_say(fd, HEALTH);
    post_begin(fd, text);
    post_begin(fd, "{}");
    post_begin(fd, text);
    client_say(fd, HEALTH);
    assert_non_null(strstr(client_read(fd)->body, "\"ready\":true"));
    assert_non_null(strstr(client_read(fd)->body, "\"duplicateDetected\":false"));
    assert_int_equal(400, client_read(fd)->status);
    assert_non_null(strstr(client_read(fd)->body, "\"duplicateDetected\":true"));
    assert_non_null(strstr(client_read(fd)->body, "\"ready\":true"));
}

/* ---- too slow ---- */

static receiver_fixture *open_impatient(void)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;

    options.request_ms = 100;
    return receiver_open_accepting(&options);
}

PAWL_TEST_ON(one_engine, a_request_that_does_not_come_is_cut)
{
    static const char *const beginnings[] = {
        "", "GET /health HT", "GET /health HTTP/1.1\r\nHost: x\r\nX-",
        ("POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
         "Content-Length: 10\r\n\r\n{")};
    receiver_fixture *s = open_impatient();

    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        int fd = client_connect(s);
        client_say(fd, beginnings[i]);
        assert_int_equal(408, client_read(fd)->status);
        client_expect_end(fd);
    }
    assert_int_equal(0, inbox_count(s));
}

PAWL_TEST_ON(one_engine, a_request_that_trickles_is_cut)
{
    receiver_fixture *s = open_impatient();
    int fd = client_connect(s);
    struct pollfd end = {fd, POLLIN, 0};

    client_say(fd, "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Content-Length: 1000000\r\n\r\n");
    while (poll(&end, 1, 5) == 0)
        client_say(fd, " ");
    assert_int_equal(408, client_read(fd)->status);
    client_expect_end(fd);
}

PAWL_TEST_ON(one_engine, an_idle_connection_is_closed_without_a_response)
{
    receiver_fixture *s = open_impatient();
    int fd = client_connect(s);

    client_say(fd, HEALTH);
    assert_int_equal(200, client_read(fd)->status);
    client_expect_end(fd);
}

PAWL_TEST(a_connection_waiting_for_a_handler_is_not_closed)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    receiver_fixture *s;
    controlled_handler p;
    pawl_error err = PAWL_ERROR_INIT;
    int slow;
    int fd;

    options.request_ms = 1500; /* enough for the first one to get there, on any machine */
    s = receiver_open(&options);
    controlled_handler_init(&p, s);
    p.waits = true;
    assert_ok(pawl_receiver_handle(s->receiver, NULL, PAWL_RECEIVE_CALL_OUT, controlled_handle, &p,
                                   NULL, &err),
              &err);
    receiver_start(s);
    fd = client_connect(s);
    post_begin(fd, sample_text(s, &(sample){0}));
    controlled_await(&p.there);
    slow = client_connect(s); /* connects later, and is cut: then the first has waited longer */
    assert_int_equal(408, client_read(slow)->status);
    controlled_go(&p);
    assert_int_equal(200, client_read(fd)->status);
}

/* ---- too many ---- */

PAWL_TEST_ON(one_engine, when_there_are_too_many_connections_the_slowest_goes)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    receiver_fixture *s;
    int slow[4];

    options.connections = 4;
    s = receiver_open_accepting(&options);
    for (int i = 0; i < 4; i++) {
        slow[i] = client_connect(s);
        client_say(slow[i], "GET /hea");
        assert_int_equal(200, i < 3 ? get(s, "/health")->status : 200); /* it has been accepted */
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(200, get(s, "/health")->status);
    assert_int_equal(503, client_read(slow[0])->status);
    client_say(slow[3], "lth HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(200, client_read(slow[3])->status);
}

PAWL_TEST_ON(one_engine, one_address_cannot_use_up_the_connections_of_others)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    pawl_receiver_stats stats = PAWL_RECEIVER_STATS_INIT;
    receiver_fixture *s;
    int other;
    int greedy[3];

    options.connections_per_ip = 2;
    s = receiver_open_accepting(&options);
    other = client_connect_from(s, "127.0.0.2");
    client_say(other, "GET /hea");
    for (int i = 0; i < 3; i++) {
        greedy[i] = client_connect(s);
        client_say(greedy[i], "GET /hea");
        while (stats.connections + stats.cut < i + 2)
            pawl_receiver_get_stats(s->receiver, &stats);
    }
    assert_int_equal(429, client_read(greedy[0])->status);
    client_say(other, "lth HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(200, client_read(other)->status);
    client_say(greedy[2], "lth HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(200, client_read(greedy[2])->status);
}

/* ---- unix sockets ---- */

PAWL_TEST(a_unix_socket_is_for_owner_and_group_and_goes_with_the_receiver)
{
    receiver_fixture *s = receiver_open(NULL);
    const char *path = test_note("%s/pawl.sock", test_directory());
    pawl_error err = PAWL_ERROR_INIT;
    struct stat made;
    int fd;

    assert_ok(pawl_receiver_listen_unix(s->receiver, path, &err), &err);
    assert_int_equal(0, stat(path, &made));
    assert_int_equal(S_IFSOCK | 0660, made.st_mode);
    receiver_start(s);
    fd = client_connect_unix(path);
    client_say(fd, HEALTH);
    assert_int_equal(200, client_read(fd)->status);
    pawl_receiver_free(s->receiver);
    s->receiver = NULL;
    assert_int_equal(-1, stat(path, &made));
}

PAWL_TEST(an_abandoned_socket_file_is_replaced_and_nothing_else)
{
    receiver_fixture *s = receiver_open(NULL);
    const char *path = test_note("%s/pawl.sock", test_directory());
    const char *plain = test_note("%s/file", test_directory());
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pawl_error err = PAWL_ERROR_INIT;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    FILE *file = fopen(plain, "we");

    assert_non_null(file);
    fclose(file);
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    assert_int_equal(0, listen(fd, 1));
    assert_status(PAWL_E_IO, pawl_receiver_listen_unix(s->receiver, path, &err), &err);
    close(fd);
    assert_ok(pawl_receiver_listen_unix(s->receiver, path, &err), &err);
    assert_status(PAWL_E_IO, pawl_receiver_listen_unix(s->receiver, path, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_receiver_listen_unix(s->receiver, plain, &err), &err);
    assert_int_equal(0, access(plain, F_OK));
    assert_status(PAWL_E_INVALID,
                  pawl_receiver_listen_unix(s->receiver, test_note("%0200d", 1), &err), &err);
}

PAWL_TEST_ON(one_engine, invalid_addresses_and_ports_in_use_are_refused)
{
    receiver_fixture *s = receiver_open_accepting(NULL);
    receiver_fixture *other = receiver_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int port = 0;

    assert_status(PAWL_E_INVALID,
                  pawl_receiver_listen(other->receiver, "here", NULL, NULL, NULL, &err), &err);
    assert_status(PAWL_E_IO,
                  pawl_receiver_listen(other->receiver, test_note("127.0.0.1:%d", s->port), NULL,
                                       NULL, NULL, &err),
                  &err);
    assert_status(PAWL_E_INVALID,
                  pawl_receiver_listen(other->receiver, "127.0.0.1:0", "/none", NULL, NULL, &err),
                  &err);
    assert_ok(pawl_receiver_listen(other->receiver, "[::1]:0", NULL, NULL, &port, &err), &err);
    assert_true(port > 0);
    assert_status(PAWL_E_MISUSE,
                  pawl_receiver_listen(s->receiver, "127.0.0.1:0", NULL, NULL, NULL, &err), &err);
    assert_status(PAWL_E_MISUSE, pawl_receiver_start(s->receiver, &err), &err);
}

PAWL_TEST(no_option_out_of_its_range)
{
    fixture *f = fixture_open(NULL);
    pawl_services *services = receiver_services("env:PAWL_TEST_SHOP_SECRET");
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    pawl_receiver *receiver = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    options.handlers = 0;
    assert_status(PAWL_E_INVALID,
                  pawl_receiver_new(fixture_store(f), services, &options, &receiver, &err), &err);
    assert_says(&err, "handlers must be 1 to 1000");
    assert_status(PAWL_E_INVALID, pawl_receiver_new(NULL, services, NULL, &receiver, &err), &err);
    assert_null(receiver);
    pawl_services_unref(services);
    pawl_receiver_free(NULL);
    pawl_receiver_stop(NULL);
}
