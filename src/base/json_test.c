/* src/base/json_test.c - which texts are JSON objects. */
#include <string.h>

#include "json.h"
#include "test.h"

static pawl_status json_check(const char *text, pawl_error *err)
{
    return pawli_json_check_object(text, strlen(text), "headers", err);
}

PAWL_TEST(objects_pass)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(json_check("{}", &err), &err);
    assert_ok(json_check(" {\"traceparent\": \"00-ab-cd-01\", \"n\": [1, {\"a\": null}]} ", &err),
              &err);
}

PAWL_TEST(everything_else_is_refused_without_quoting_it)
{
    static const char *const bad[] = {
        "",        "[]",    "\"secret\"",      "{\"secret\":}", "{\"a\":1,\"a\":2}",
        "{'a':1}", "{} {}", "{\"a\":\"\xff\"}"};
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_status(PAWL_E_INVALID, json_check(bad[i], &err), &err);
        assert_non_null(strstr(err.message, "headers must be a JSON object"));
        assert_null(strstr(err.message, "secret"));
    }
}

PAWL_TEST(deep_nesting_is_refused_not_followed)
{
    static char deep[200000];
    pawl_error err = PAWL_ERROR_INIT;

    memset(deep, '[', sizeof deep - 1);
    memcpy(deep, "{\"a\":", 5);
    assert_status(PAWL_E_INVALID, json_check(deep, &err), &err);
}
