/* src/transport/services_test.c - the service map: lookup, rejected entries, reference counting. */
#include <stdlib.h>
#include <string.h>

#include <pawl/services.h>

#include "test.h"
#include "signature.h"
#include "services.h"

static pawl_service_options named(const char *name, const char *url)
{
    pawl_service_options opts = PAWL_SERVICE_OPTIONS_INIT;

    opts.name = name;
    opts.url = url;
    return opts;
}

static void unref(void *services)
{
    pawl_services_unref(services);
}

static pawl_services *map_of(const pawl_service_options *services, size_t count,
                             const pawl_service_options *urls)
{
    pawl_services_options opts = PAWL_SERVICES_OPTIONS_INIT;
    pawl_services *map = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    opts.map_name = "/etc/pawl.conf";
    opts.urls = urls;
    assert_ok(pawl_services_new(services, count, &opts, &map, &err), &err);
    test_defer(unref, map);
    return map;
}

PAWL_TEST(names_are_found_and_keep_their_settings)
{
    static const char *const places[] = {"env:PAWL_TEST_A", "env:PAWL_TEST_B"};
    pawl_service_options all[] = {named("orders", "https://orders.example"),
                                  named("billing", "http://10.0.0.7:81/x"), named("camera", NULL)};
    const pawl_service *service = NULL;
    const char *url = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    setenv("PAWL_TEST_A", "a secret of some length", 1);
    setenv("PAWL_TEST_B", "another secret of some length", 1);
    all[1].secrets = places;
    all[1].secret_count = 2;
    all[1].scheme = 1;
    all[1].timeout_ms = 100;
    all[1].concurrency = 3;
    all[1].max_attempts = 4;
    all[1].allow_private = true;
    all[1].backoff = (pawl_backoff){5, 6, 7};
    all[1].ca_file = "/ca.pem";
    all[1].proxy = "http://proxy:8080";
    pawl_services *map = map_of(all, 3, NULL);
    memset(all, 0, sizeof all); /* everything was copied */
    assert_ok(pawl_services_find(map, "billing", &service, &url, &err), &err);
    assert_string_equal("http://10.0.0.7:81/x", url);
    assert_string_equal("billing", pawl_service_name(service));
    assert_string_equal(url, pawl_service_url(service));
    assert_int_equal(2, pawli_secrets_count(pawli_service_secrets(service)));
    assert_int_equal(1, pawl_service_scheme(service));
    assert_int_equal(100, pawl_service_timeout_ms(service));
    assert_int_equal(100, pawl_service_connect_timeout_ms(service));
    assert_int_equal(3, pawl_service_concurrency(service));
    assert_int_equal(4, pawl_service_max_attempts(service));
    assert_true(pawl_service_allow_private(service));
    assert_int_equal(6, pawl_service_backoff(service).max_ms);
    assert_string_equal("/ca.pem", pawl_service_ca_file(service));
    assert_string_equal("http://proxy:8080", pawl_service_proxy(service));
    assert_ptr_equal(service, pawl_services_peer(map, "billing"));
    assert_ptr_equal(service, pawl_services_at(map, 1));
    assert_null(pawl_services_at(map, 3));
    assert_int_equal(3, pawl_services_count(map));

    assert_ok(pawl_services_find(map, "orders", &service, &url, &err), &err);
    assert_false(pawl_service_allow_private(service));
    assert_int_equal(2, pawl_service_scheme(service));
    assert_int_equal(0, pawli_secrets_count(pawli_service_secrets(service)));
}

PAWL_TEST(a_url_destination_uses_the_entry_for_urls)
{
    pawl_service_options urls = PAWL_SERVICE_OPTIONS_INIT;
    const pawl_service *service = NULL;
    const char *url = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    urls.timeout_ms = 77;
    pawl_services *map = map_of(NULL, 0, &urls);
    assert_ok(pawl_services_find(map, "HTTPS://a.example/b", &service, &url, &err), &err);
    assert_string_equal("HTTPS://a.example/b", url);
    assert_string_equal("", pawl_service_name(service));
    assert_null(pawl_service_url(service));
    assert_int_equal(77, pawl_service_timeout_ms(service));
    assert_false(pawl_service_allow_private(service));
    assert_null(pawl_services_peer(map, ""));
}

PAWL_TEST(the_error_for_an_unknown_name_names_the_map)
{
    pawl_service_options camera = named("camera", NULL);
    pawl_services *map = map_of(&camera, 1, NULL);
    const pawl_service *service = NULL;
    const char *url = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_NOT_FOUND, pawl_services_find(map, "ordres", &service, &url, &err), &err);
    assert_non_null(strstr(err.message, "'ordres'"));
    assert_non_null(strstr(err.message, "/etc/pawl.conf"));
    assert_status(PAWL_E_NOT_FOUND, pawl_services_find(map, "9://x", &service, &url, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_services_find(map, "camera", &service, &url, &err), &err);
    assert_null(service);
    assert_null(url);
    assert_null(pawl_services_peer(map, "orders"));
    assert_non_null(pawl_services_peer(map, "camera"));
}

PAWL_TEST(a_socket_in_the_map_is_allowed_by_being_there)
{
    pawl_service_options all[] = {named("a", "unix:///run/a.sock"), named("b", "pipe://b"),
                                  named("c", "http://127.0.0.1")};
    pawl_services *map = map_of(all, 3, NULL);

    assert_true(pawl_service_allow_private(pawl_services_at(map, 0)));
    assert_true(pawl_service_allow_private(pawl_services_at(map, 1)));
    assert_false(pawl_service_allow_private(pawl_services_at(map, 2)));
}

static void assert_refused(pawl_status expected, const char *what,
                           const pawl_service_options *services, size_t count,
                           const pawl_services_options *opts)
{
    pawl_services *map = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(expected, pawl_services_new(services, count, opts, &map, &err), &err);
    if (!strstr(err.message, what))
        test_fail("'%s' is not in: %s", what, err.message);
    assert_null(map);
}

PAWL_TEST(one_bad_entry_and_there_is_no_map)
{
    static const char *const place = "env:PAWL_TEST_NO_SUCH_VARIABLE";
    pawl_service_options good = named("good", "https://a.example"), bad[2];
    pawl_services_options opts = PAWL_SERVICES_OPTIONS_INIT;

#define REFUSED(what, field, value)                                                                \
    do {                                                                                           \
        bad[0] = good;                                                                             \
        bad[1] = named("bad", "https://b.example");                                                \
        bad[1].field = (value);                                                                    \
        assert_refused(PAWL_E_INVALID, what, bad, 2, NULL);                                        \
    } while (0)
    REFUSED("name", name, NULL);
    REFUSED("name", name, "");
    REFUSED("name", name, "a\tb");
    REFUSED("name", name, "http://a");
    REFUSED("twice", name, "good");
    REFUSED("'bad': its url", url, "b.example");
    REFUSED("'bad': signature scheme", scheme, 3);
    REFUSED("'bad': timeout_ms", timeout_ms, 0);
    REFUSED("'bad': connect_timeout_ms", connect_timeout_ms, 600001);
    REFUSED("'bad': concurrency", concurrency, 0);
    REFUSED("'bad': max_attempts", max_attempts, -1);
    REFUSED("'bad': response_max_bytes", response_max_bytes, 10);
    REFUSED("'bad': its backoff", backoff, ((pawl_backoff){10, 5, 0}));
    REFUSED("'bad': secrets", secret_count, 1);
#undef REFUSED
    bad[0] = good;
    bad[0].secrets = &place;
    bad[0].secret_count = 1;
    assert_refused(PAWL_E_NOT_FOUND, "service 'good': the secret env:", bad, 1, NULL);
    opts.urls = &good;
    assert_refused(PAWL_E_INVALID, "URLs", NULL, 0, &opts);
    assert_refused(PAWL_E_INVALID, "NULL", NULL, 1, NULL);
}

PAWL_TEST(a_reference_keeps_the_old_map_alive)
{
    pawl_service_options one = named("a", "https://a.example");
    pawl_services *map = map_of(&one, 1, NULL);
    pawl_services *mine = pawl_services_ref(map);

    assert_ptr_equal(map, mine);
    pawl_services_unref(mine);
    assert_string_equal("a", pawl_service_name(pawl_services_at(map, 0)));
    pawl_services_unref(NULL);
}
