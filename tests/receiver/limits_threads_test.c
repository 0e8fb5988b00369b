/* tests/receiver/limits_threads_test.c - limits for a client, and the responses beyond them.
 */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "activity.h"
#include "queue_fixture.h"
#include "receiver_fixture.h"

#define MIB (1024 * 1024)

/* A refusal has the body of an acknowledgement, and says when to come again. */
static void assert_rejected(int status, const char *why, const reply *r)
{
    assert_int_equal(status, r->status);
    if (!strstr(r->body, "\"acknowledged\":false") || !strstr(r->body, why))
        test_fail("%d with the body: %s", r->status, r->body);
    assert_string_equal("1", reply_header(r, "Retry-After"));
    assert_string_equal("application/json", reply_header(r, "Content-Type"));
}

/* How many of a kind health tells of. */
static long refused_in_health(receiver_fixture *s, const char *kind)
{
    const reply *r = get(s, "/health");
    const char *found = strstr(r->body, test_note("\"%s\":", kind));

    if (!strstr(r->body, "\"refused\":{") || !found)
        test_fail("%s is not there: %s", kind, r->body);
    return strtol(found + strlen(kind) + 3, NULL, 10);
}

static void assert_refused_in_health(receiver_fixture *s, const char *kind, int at_least)
{
    long count = refused_in_health(s, kind);

    if (count < at_least)
        test_fail("%s is there %ld times, not %d", kind, count, at_least);
}

/* ---- bodies ---- */

/* `size` bytes of a body of 250,000. */
static int begin_body(receiver_fixture *s, const char *address, size_t size)
{
    int fd = client_connect_from(s, address);
    char *bytes = calloc(1, size + 1);

    assert_non_null(bytes);
    memset(bytes, ' ', size);
    client_say(fd, "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Content-Length: 250000\r\n\r\n");
    client_say(fd, bytes);
    free(bytes);
    return fd;
}

/* The first of them that is answered. */
static int await_answer(const int *fds, size_t count)
{
    struct pollfd waiting[16];

    for (size_t i = 0; i < count; i++)
        waiting[i] = (struct pollfd){fds[i], POLLIN, 0};
    if (poll(waiting, (nfds_t)count, 60000) <= 0)
        test_fail("none of %zu requests that use all the memory was closed in a minute", count);
    for (size_t i = 0; i < count; i++)
        if (waiting[i].revents)
            return waiting[i].fd;
    return -1;
}

PAWL_TEST_ON(one_engine, endless_bodies_cannot_block_other_clients)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    int greedy[8];
    receiver_fixture *s;
    int honest;

    options.max_buffered_bytes = MIB;
    options.request_ms = 600000;
    s = receiver_open_accepting(&options);
    honest = begin_body(s, "127.0.0.3", 100000); /* slow, too, and before all others */
    for (int i = 0; i < 8; i++)
        greedy[i] = begin_body(s, "127.0.0.2", 200000);
    assert_rejected(429, "too many request bodies", client_read(await_answer(greedy, 8)));
    for (int i = 0; i < 20; i++)
        assert_int_equal(200, deliver(s, &(sample){0})->status);
    assert_refused_in_health(s, "buffered_bytes", 1);
    for (int i = 0; i < 150; i++)
        client_say(honest, test_note("%01000d", 0));
    assert_int_equal(400, client_read(honest)->status); /* it has arrived, and is no JSON */
}

PAWL_TEST_ON(one_engine, a_body_that_is_too_large_is_counted)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    receiver_fixture *s;
    int fd;

    options.max_body_bytes = 1024;
    s = receiver_open_accepting(&options);
    fd = client_connect(s);
    client_say(fd, "POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Content-Length: 1025\r\n\r\n");
    const reply *r = client_read(fd);
    assert_int_equal(413, r->status);
    assert_null(reply_header(r, "Retry-After"));
    assert_refused_in_health(s, "body", 1);
}

/* Malformed, which libmicrohttpd rejects, too. */
static int bad_head_status(receiver_fixture *s)
{
    int fd = client_connect(s);

    client_say(fd, "GET /health HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n");
    int status = client_read(fd)->status;
    (void)client_read_all(fd);
    return status;
}

/* libmicrohttpd rejects it before any handler is called. */
PAWL_TEST_ON(one_engine, a_head_that_is_too_large_is_counted)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    receiver_fixture *s;

    options.max_header_bytes = 4096;
    s = receiver_open_accepting(&options);
    for (int i = 1; i <= 3; i++) {
        int fd = client_connect(s);
        client_say(fd, test_note("GET /health HTTP/1.1\r\nHost: x\r\nX: %08000d\r\n\r\n", i));
        assert_int_equal(431, client_read(fd)->status);
        until(refused_in_health(s, "headers") == i); /* counted when its connection is closed */
    }
    assert_int_equal(400, bad_head_status(s));
    assert_int_equal(3, refused_in_health(s, "headers")); /* another error is not this limit */
}

/* ---- connections ---- */

PAWL_TEST_ON(one_engine, too_many_connections_get_a_response)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    int slow[3];
    receiver_fixture *s;

    options.connections = 3;
    s = receiver_open_accepting(&options);
    for (int i = 0; i < 3; i++) {
        slow[i] = client_connect(s);
        client_say(slow[i], "GET /hea");
        if (i < 2) /* it has been accepted */
            assert_int_equal(200, get(s, "/health")->status);
    }
    assert_refused_in_health(s, "connections", 1);
    assert_rejected(503, "too many connections", client_read(slow[0]));
}

PAWL_TEST_ON(one_engine, too_many_connections_from_one_address_get_a_response)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    int slow[3];
    receiver_fixture *s;

    options.connections_per_ip = 2;
    s = receiver_open_accepting(&options);
    for (int i = 0; i < 3; i++) {
        slow[i] = client_connect_from(s, "127.0.0.2");
        client_say(slow[i], "GET /hea");
    }
    assert_rejected(429, "too many connections from this address",
                    client_read(await_answer(slow, 3)));
    assert_refused_in_health(s, "connections_per_ip", 1);
}

PAWL_TEST_ON(one_engine, a_request_that_is_too_slow_gets_a_response)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    receiver_fixture *s;
    int fd;

    options.request_ms = 100;
    s = receiver_open_accepting(&options);
    fd = client_connect(s);
    client_say(fd, "GET /hea");
    assert_rejected(408, "did not arrive in time", client_read(fd));
    assert_refused_in_health(s, "timeout", 1);
}

/* A certificate and its key, as PEM files. */
static void make_certificate(const char *cert_path, const char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    FILE *cert_file = fopen(cert_path, "we");
    FILE *key_file = fopen(key_path, "we");

    assert_true(key && cert && cert_file && key_file);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    X509_set_pubkey(cert, key);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    assert_int_equal(1, PEM_write_X509(cert_file, cert));
    assert_int_equal(1, PEM_write_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL));
    fclose(cert_file);
    fclose(key_file);
    X509_free(cert);
    EVP_PKEY_free(key);
}

/* The port where the receiver, which is not started yet, speaks TLS. */
static int listen_tls(receiver_fixture *s)
{
    const char *folder = test_directory();
    const char *cert = test_note("%s/cert.pem", folder);
    const char *key = test_note("%s/key.pem", folder);
    pawl_error err = PAWL_ERROR_INIT;
    int port = 0;

    make_certificate(cert, key);
    assert_ok(pawl_receiver_listen(s->receiver, "127.0.0.1:0", cert, key, &port, &err), &err);
    return port;
}

/* The response would have to be encrypted by the thread that reads. */
PAWL_TEST_ON(one_engine, tls_connections_that_are_cut_are_counted_and_get_no_response)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    receiver_fixture tls;
    receiver_fixture *s;
    int slow[3];

    options.connections_per_ip = 2;
    s = receiver_open(&options);
    tls = *s;
    tls.port = listen_tls(s);
    receiver_start(s);
    for (int i = 0; i < 3; i++)
        slow[i] = client_connect_from(&tls, "127.0.0.2");
    client_expect_end(await_answer(slow, 3));
    assert_int_equal(1, refused_in_health(s, "connections_per_ip"));
}

PAWL_TEST_ON(one_engine, a_tls_handshake_that_is_too_slow_is_counted)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    receiver_fixture tls;
    receiver_fixture *s;

    options.request_ms = 100;
    s = receiver_open(&options);
    tls = *s;
    tls.port = listen_tls(s);
    receiver_start(s);
    client_expect_end(client_connect(&tls));
    assert_int_equal(1, refused_in_health(s, "timeout"));
}

/* All clients of a reverse proxy have its address. */
PAWL_TEST_ON(one_engine, a_trusted_proxy_may_have_more_connections_than_one_address)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    int proxied[6];
    int other[3];
    receiver_fixture *s;

    options.connections_per_ip = 2;
    options.trusted_proxies = "::1, 127.0.0.2";
    s = receiver_open_accepting(&options);
    for (int i = 0; i < 6; i++) {
        proxied[i] = client_connect_from(s, "127.0.0.2");
        client_say(proxied[i], "GET /hea");
    }
    for (int i = 0; i < 3; i++) {
        other[i] = client_connect_from(s, "127.0.0.3");
        client_say(other[i], "GET /hea");
    }
    assert_int_equal(429, client_read(await_answer(other, 3))->status);
    for (int i = 0; i < 6; i++) {
        client_say(proxied[i], "lth HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(200, client_read(proxied[i])->status);
    }
}

/* ---- options ---- */

static void assert_invalid(fixture *f, const pawl_receiver_options *options, const char *why)
{
    pawl_services *services = receiver_services("env:PAWL_TEST_SHOP_SECRET");
    pawl_receiver *receiver = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_INVALID,
                  pawl_receiver_new(fixture_store(f), services, options, &receiver, &err), &err);
    assert_says(&err, why);
    pawl_services_unref(services);
}

PAWL_TEST(proxies_are_addresses)
{
    fixture *f = fixture_open(NULL);
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;

    options.trusted_proxies = "10.0.0.1, proxy.example.org";
    assert_invalid(f, &options, "invalid address or network 'proxy.example.org'");
}

/* A signature is good from one window before its time to one after it. */
PAWL_TEST(records_are_kept_as_long_as_a_duplicate_is_accepted)
{
    const pawl_store_options brief = {.size = sizeof brief,
                                      .durability = PAWL_DURABILITY_NORMAL,
                                      .timeout_ms = 30000,
                                      .pool_size = 2,
                                      .backoff_local = PAWL_BACKOFF_LOCAL,
                                      .backoff_remote = PAWL_BACKOFF_REMOTE,
                                      .inbox_keep_ms = 2 * 300000 - 1};
    const fixture_options with = {.store = &brief};
    fixture *f = fixture_open(&with);
    pawl_services *services = receiver_services("env:PAWL_TEST_SHOP_SECRET");
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    pawl_receiver *receiver = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_invalid(f, &options, "at least twice replay_window_ms");
    options.keep_ms = 2 * options.replay_window_ms;
    assert_ok(pawl_receiver_new(fixture_store(f), services, &options, &receiver, &err), &err);
    pawl_receiver_free(receiver);
    pawl_services_unref(services);
    options.replay_window_ms++;
    assert_invalid(f, &options, "at least twice replay_window_ms");
}
