/* src/transport/http/target_test.c - the request that results from a URL. */
#include "target.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static void assert_target(const char *url, const char *expected_url, const char *expected_path)
{
    pawli_target target = {NULL, NULL};
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_target_parse(url, NULL, &target, &err), &err);
    assert_string_equal(expected_url, target.url);
    if (expected_path)
        assert_string_equal(expected_path, target.socket_path);
    else
        assert_null(target.socket_path);
    pawli_target_done(&target);
}

PAWL_TEST(http_gets_a_path_where_it_has_none)
{
    assert_target("https://inventory:5000", "https://inventory:5000/_rf/receive", NULL);
    assert_target("http://h/", "http://h/_rf/receive", NULL);
    assert_target("HTTP://h/x?y=1#z", "http://h/x?y=1", NULL);
    assert_target("http://[::1]:81/a%20b", "http://[::1]:81/a%20b", NULL);
}

PAWL_TEST(sockets_and_pipes)
{
    const char *old = getenv("TMPDIR");
    const char *kept = old ? test_note("%s", old) : NULL;

    assert_target("unix:///run/a.sock", "http://localhost/_rf/receive", "/run/a.sock");
    assert_target("unix:///run/a.sock:/in/box?x", "http://localhost/in/box?x", "/run/a.sock");
    setenv("TMPDIR", "/some/where", 1);
    assert_target("pipe://rf-email", "http://localhost/_rf/receive",
                  "/some/where/CoreFxPipe_rf-email");
    unsetenv("TMPDIR");
    assert_target("pipe://rf-email:/x", "http://localhost/x", "/tmp/CoreFxPipe_rf-email");
    if (kept)
        setenv("TMPDIR", kept, 1);

    pawli_target target = {NULL, NULL};
    pawl_error err = PAWL_ERROR_INIT;
    assert_ok(pawli_target_parse("pipe://a", "/run/app", &target, &err), &err);
    assert_string_equal("/run/app/CoreFxPipe_a", target.socket_path);
    pawli_target_done(&target);
}

PAWL_TEST(bad_urls_are_refused_without_repeating_them)
{
    static const char *const urls[] = {"",
                                       "hunter2",
                                       "http://",
                                       "http://me:hunter2@host/",
                                       "http://host:99999/",
                                       "http://ho st/",
                                       "http://host/\n",
                                       "unix://relative.sock",
                                       "unix://",
                                       "unix:///run/a.sock:/a b",
                                       "pipe://",
                                       "pipe://a/b",
                                       "pipe://../x",
                                       "pipe://:/x"};

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        pawli_target target = {NULL, NULL};
        pawl_error err = PAWL_ERROR_INIT;
        pawl_status st = pawli_target_parse(urls[i], NULL, &target, &err);
        if (st != PAWL_E_INVALID || target.url || strstr(err.message, "hunter2"))
            test_fail("%s: %s", urls[i], err.message);
    }
    char long_path[200];
    memset(long_path, 'x', sizeof long_path);
    memcpy(long_path, "unix:///", 8);
    long_path[sizeof long_path - 1] = '\0';
    pawli_target target = {NULL, NULL};
    pawl_error err = PAWL_ERROR_INIT;
    assert_status(PAWL_E_INVALID, pawli_target_parse(long_path, NULL, &target, &err), &err);
}
