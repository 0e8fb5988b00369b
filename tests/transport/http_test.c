/* tests/transport/http_test.c - HTTP only: statuses, broken responses, redirects, addresses. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sender_fixture.h"
#include "test.h"
#include "transport_client.h"

PAWL_TEST(every_status_has_its_meaning)
{
    static const struct {
        const char *status;
        pawl_send_result sent;
    } cases[] = {
        {"201", PAWL_SEND_RETRY},    {"304", PAWL_SEND_RETRY},    {"400", PAWL_SEND_REJECTED},
        {"401", PAWL_SEND_REJECTED}, {"403", PAWL_SEND_REJECTED}, {"404", PAWL_SEND_REJECTED},
        {"408", PAWL_SEND_RETRY},    {"409", PAWL_SEND_RETRY},    {"410", PAWL_SEND_REJECTED},
        {"413", PAWL_SEND_REJECTED}, {"415", PAWL_SEND_REJECTED}, {"422", PAWL_SEND_REJECTED},
        {"425", PAWL_SEND_RETRY},    {"429", PAWL_SEND_RETRY},    {"500", PAWL_SEND_RETRY},
        {"502", PAWL_SEND_RETRY},    {"503", PAWL_SEND_RETRY},    {"504", PAWL_SEND_RETRY}};
    sender_fixture *sender = sender_open(peer_start(), NULL);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pawl_send_report *outcome = sender_ask(sender, NULL, cases[i].status);
        if (outcome->sent != cases[i].sent ||
            outcome->status != (int)strtol(cases[i].status, NULL, 10) || !outcome->reached ||
            !outcome->error || outcome->payload)
            test_fail("%s became %s", cases[i].status, pawl_send_result_name(outcome->sent));
    }
    assert_non_null(strstr(sender_ask(sender, NULL, "404")->error, "HTTP 404: because"));
}

PAWL_TEST(success_without_an_acknowledgement_is_retried)
{
    const pawl_send_report *outcome = sender_ask(sender_open(peer_start(), NULL), NULL, "nonsense");

    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_int_equal(200, outcome->status);
    assert_non_null(strstr(outcome->error, "acknowledgement"));
}

PAWL_TEST(retry_after_may_be_a_date)
{
    const pawl_send_report *outcome = sender_ask(sender_open(peer_start(), NULL), NULL, "date");

    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_int_equal(0, outcome->retry_after_ms);
}

PAWL_TEST(a_truncated_response_is_retried)
{
    sender_fixture *sender = sender_open(peer_start(), NULL);

    assert_int_equal(PAWL_SEND_RETRY, sender_ask(sender, NULL, "cut")->sent);
    assert_int_equal(PAWL_SEND_ACKNOWLEDGED, sender_ask(sender, NULL, "ok")->sent);
}

PAWL_TEST(an_endless_response_is_not_read_to_the_end)
{
    sender_fixture *sender = sender_open(peer_start(), NULL);
    const pawl_send_report *outcome = sender_ask(sender, NULL, "huge");

    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_non_null(strstr(outcome->error, "longer than 1048576 bytes"));
    assert_int_equal(PAWL_SEND_REJECTED, sender_ask(sender, NULL, "huge-404")->sent);
    assert_int_equal(PAWL_SEND_ACKNOWLEDGED, sender_ask(sender, NULL, "ok")->sent);
}

PAWL_TEST(redirects_are_not_followed)
{
    test_peer *peer = peer_start();
    const pawl_send_report *outcome = sender_ask(sender_open(peer, NULL), NULL, "redirect");

    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_int_equal(302, outcome->status);
    assert_non_null(strstr(outcome->error, "redirect"));
    assert_int_equal(1, peer_requests(peer));
}

PAWL_TEST(the_trace_travels_as_an_http_header_too)
{
    const pawl_send_report *outcome = sender_ask(sender_open(peer_start(), NULL), NULL, "trace");

    assert_string_equal("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                        outcome->payload);
}

PAWL_TEST(connections_are_kept_for_the_next_send)
{
    test_peer *peer = peer_start();
    sender_fixture *sender = sender_open(peer, NULL);

    for (int i = 0; i < 20; i++)
        assert_int_equal(PAWL_SEND_ACKNOWLEDGED, sender_ask(sender, NULL, "ok")->sent);
    assert_int_equal(1, peer_connections(peer));
}

PAWL_TEST(a_refused_connection_is_retried)
{
    test_peer *peer = peer_start();
    sender_fixture *sender = sender_open(peer, NULL);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const char *url = test_note("unix://%s/nobody", test_directory());
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* bound, but not listening */

    if (bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        test_fail("no port");
    if (peer_is_tcp(peer))
        url = test_note("http://127.0.0.1:%d/", ntohs(address.sin_port));
    const pawl_send_report *outcome = sender_ask(sender, url, "ok");
    close(fd);
    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_int_equal(0, outcome->status);
    assert_false(outcome->reached);
    assert_true(strlen(outcome->error) > 10);
}

/* ---- a resolver that takes its time; the program's own comes before the C library's ---- */

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t names_changed = PTHREAD_COND_INITIALIZER;
static bool names_known;
static int names_asked, names_answered;

static void wait_for_names(void)
{
    pthread_mutex_lock(&names_lock);
    names_asked++;
    pthread_cond_broadcast(&names_changed);
    while (!names_known)
        pthread_cond_wait(&names_changed, &names_lock);
    names_answered++;
    pthread_cond_broadcast(&names_changed);
    pthread_mutex_unlock(&names_lock);
}

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

resolver slow_resolver __asm__("getaddrinfo") __attribute__((visibility("default")));
int slow_resolver(const char *name, const char *service, const struct addrinfo *hints,
                  struct addrinfo **result)
{
    resolver *real;

    if (name && strcmp(name, "slow.test") == 0) {
        wait_for_names();
        return EAI_AGAIN;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(name, service, hints, result);
}

static void answer_names(void *nothing)
{
    (void)nothing;
    pthread_mutex_lock(&names_lock);
    names_known = true;
    pthread_cond_broadcast(&names_changed);
    while (names_answered < names_asked)
        pthread_cond_wait(&names_changed, &names_lock);
    pthread_mutex_unlock(&names_lock);
}

PAWL_TEST_ON(tcp, a_name_that_does_not_resolve_delays_no_other_send)
{
    test_peer *peer = peer_start();
    pawli_transport_send *second = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    test_defer(answer_names, NULL);
    sender_fixture *sender = sender_open(peer, NULL);
    sender->timeout_ms = 50;
    size_t late = sender_send(sender, "http://slow.test/", "ok", NULL);
    sender->timeout_ms = 0;
    size_t cancelled = sender_send(sender, "http://slow.test:81/", "ok", &second);
    assert_ok(pawli_transport_client_process(sender->carrier, &err), &err);
    pthread_mutex_lock(&names_lock);
    while (names_asked < 2)
        pthread_cond_wait(&names_changed, &names_lock);
    pthread_mutex_unlock(&names_lock);
    pawli_transport_client_cancel(sender->carrier, second);
    assert_int_equal(PAWL_SEND_ACKNOWLEDGED, sender_ask(sender, NULL, "ok")->sent);
    assert_int_equal(PAWL_SEND_CANCELLED, sender_wait(sender, cancelled)->sent);
    assert_int_equal(PAWL_SEND_RETRY, sender_wait(sender, late)->sent);
    sender_send(sender, "http://slow.test:82/", "ok", NULL);
    assert_ok(pawli_transport_client_process(sender->carrier, &err), &err);
    sender_close(sender);
}

PAWL_TEST(a_proxy_of_the_environment_is_not_used)
{
    sender_fixture *sender;

    setenv("http_proxy", "http://127.0.0.1:1/", 1);
    setenv("https_proxy", "http://127.0.0.1:1/", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1/", 1);
    sender = sender_open(peer_start(), NULL);
    assert_int_equal(PAWL_SEND_ACKNOWLEDGED, sender_ask(sender, NULL, "ok")->sent);
    unsetenv("http_proxy");
    unsetenv("https_proxy");
    unsetenv("ALL_PROXY");
}

PAWL_TEST_ON(tcp, private_addresses_are_refused_unless_allowed)
{
    test_peer *peer = peer_start();
    pawl_service_options service = sender_service(peer);

    service.allow_private = false;
    sender_fixture *sender = sender_open(peer, &service);
    const pawl_send_report *outcome = sender_ask(sender, NULL, "ok");
    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_true(outcome->ours && !outcome->sent_whole);
    assert_non_null(strstr(outcome->error, "allow_private = on in [service peer]"));
    /* as they are after resolution */
    const char *port = strrchr(peer_url(peer), ':');
    outcome = sender_ask(sender, test_note("http://localhost%s/", port), "ok");
    assert_true(outcome->ours);
    assert_int_equal(0, peer_connections(peer));
}

PAWL_TEST_ON(tcp, a_kept_connection_does_not_bypass_the_address_check)
{
    test_peer *peer = peer_start();
    pawl_service_options all[2] = {sender_service(peer), sender_service(peer)};
    sender_fixture *sender = sender_open(peer, NULL);
    pawl_services *services = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    all[1].name = "strict";
    all[1].allow_private = false;
    assert_ok(pawl_services_new(all, 2, NULL, &services, &err), &err);
    assert_int_equal(PAWL_SEND_ACKNOWLEDGED, sender_ask(sender, NULL, "ok")->sent);
    sender->service = pawl_services_at(services, 1);
    const pawl_send_report *outcome = sender_ask(sender, NULL, "ok");
    assert_true(outcome->ours);
    assert_non_null(strstr(outcome->error, "allow_private = on in [service strict]"));
    assert_int_equal(1, peer_requests(peer));
    pawl_services_unref(services);
}

static void ignore_outcome(void *context, const pawl_send_report *outcome)
{
    (void)context;
    (void)outcome;
}

PAWL_TEST(a_url_that_names_a_socket_is_refused_unless_allowed)
{
    sender_fixture *sender = sender_open(peer_start(), NULL);
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    const pawl_service *urls = NULL;
    const char *url = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    sender_ask(sender, NULL, "ok");
    assert_ok(pawl_services_find(sender->services, "unix:///run/docker.sock", &urls, &url, &err),
              &err);
    request.service = urls;
    request.envelope = sender->envelopes[0];
    request.url = url;
    assert_status(
        PAWL_E_DENIED,
        pawli_transport_client_send(sender->carrier, &request, ignore_outcome, NULL, NULL, &err),
        &err);
    request.url = "pipe://peer";
    assert_status(
        PAWL_E_DENIED,
        pawli_transport_client_send(sender->carrier, &request, ignore_outcome, NULL, NULL, &err),
        &err);
}

PAWL_TEST_ON(https, an_unknown_certificate_is_not_trusted)
{
    test_peer *peer = peer_start();
    pawl_service_options service = sender_service(peer);

    service.ca_file = NULL;
    const pawl_send_report *outcome = sender_ask(sender_open(peer, &service), NULL, "ok");
    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_false(outcome->reached || outcome->sent_whole || outcome->ours);
    assert_int_equal(0, peer_requests(peer));
}

PAWL_TEST_ON(https, a_certificate_for_another_name_is_not_trusted)
{
    test_peer *peer = peer_start();

    const char *port = strrchr(peer_url(peer), ':');
    const pawl_send_report *outcome =
        sender_ask(sender_open(peer, NULL), test_note("https://127.0.0.2%s/", port), "ok");
    assert_int_equal(PAWL_SEND_RETRY, outcome->sent);
    assert_int_equal(0, peer_requests(peer));
}
