/* src/transport/envelope_test.c - envelopes decode to what was encoded, and anything else is
 * rejected. */
#include <stdio.h>
#include <stdlib.h>

#include "envelope_fixture.h"
#include "envelope.h"

static const pawl_envelope *there_and_back(const pawl_message_spec *content)
{
    return letter_received(pawl_envelope_text(letter_envelope(content, NULL, PAWL_SCHEME_2), NULL));
}

static void assert_payload(const void *expected, size_t size, const pawl_envelope *envelope)
{
    size_t got_size = 0;
    const char *got = pawl_envelope_payload(envelope, &got_size);

    assert_int_equal(size, got_size);
    assert_memory_equal(expected, got, size);
    assert_int_equal('\0', got[got_size]);
}

PAWL_TEST(an_envelope_has_the_fields_of_the_wire_format)
{
    static const char payload[] = "{ \"order\" : 17, \"total\": 12.50 }";
    pawl_message_spec content = letter_content(payload, strlen(payload));

    content.headers = "{\"traceparent\":\"00-aa-bb-01\", \"tenant\" : {\"id\":1.50}}";
    content.type = PAWL_TYPE_PUSH_CALL;
    assert_string_equal(
        "{\"messageId\":\"" LETTER_ID "\",\"correlationId\":\"order-17\","
        "\"sourceServiceId\":\"inventory-service\",\"messageType\":\"PushCall\","
        "\"endpoint\":\"OrderApproved\",\"payload\":{ \"order\" : 17, \"total\": 12.50 },"
        "\"headers\":{\"rf-version\":\"2.0\",\"rf-timestamp\":\"2026-02-14T12:00:00Z\","
        "\"rf-attempt\":\"1\",\"traceparent\":\"00-aa-bb-01\","
        "\"tenant\":{\"id\":1.50}}}",
        pawl_envelope_text(letter_envelope(&content, NULL, PAWL_SCHEME_2), NULL));
}

PAWL_TEST(everything_comes_back)
{
    pawl_message_spec content = letter_content("[1]", 3);

    content.headers = "{\"traceparent\":\"00-aa\\u002dbb\",\"tracestate\":\"a=b\",\"n\":1.50}";
    content.type = PAWL_TYPE_COMMAND;
    content.topic = "with \"quotes\", \\, \n and ä";
    const pawl_envelope *envelope = there_and_back(&content);
    assert_string_equal(LETTER_ID, pawl_envelope_id(envelope));
    assert_string_equal("inventory-service", pawl_envelope_source(envelope));
    assert_string_equal(content.topic, pawl_envelope_endpoint(envelope));
    assert_string_equal("order-17", pawl_envelope_correlation_id(envelope));
    assert_int_equal(PAWL_TYPE_COMMAND, pawl_envelope_type(envelope));
    assert_string_equal("2.0", pawl_envelope_version(envelope));
    assert_string_equal("2026-02-14T12:00:00Z", pawl_envelope_timestamp(envelope));
    assert_null(pawl_envelope_hmac(envelope));
    assert_int_equal(1, pawl_envelope_attempt(envelope));
    assert_string_equal("00-aa-bb", pawl_envelope_traceparent(envelope));
    assert_string_equal("a=b", pawl_envelope_tracestate(envelope));
    assert_string_equal(content.headers, pawl_envelope_headers(envelope));
    assert_true(pawl_envelope_payload_is_json(envelope));
    assert_payload("[1]", 3, envelope);
}

PAWL_TEST(json_payloads_are_embedded_as_they_are)
{
    static const char *const payloads[] = {"null",
                                           "0",
                                           "\"\"",
                                           "\"a\\u0000\\/\"",
                                           "123456789012345678901234567890e-400",
                                           "{\"a\":1,\"a\":2}",
                                           "[ 1.0 ,\n\t2 ]",
                                           "{\"payload\":\"}\",\"headers\":{\"rf-hmac\":\"x\"}}"};

    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        pawl_message_spec content = letter_content(payloads[i], strlen(payloads[i]));
        const pawl_envelope *envelope = there_and_back(&content);
        if (!pawl_envelope_payload_is_json(envelope))
            test_fail("not embedded: %s", payloads[i]);
        assert_payload(payloads[i], strlen(payloads[i]), envelope);
        assert_non_null(strstr(pawl_envelope_text(envelope, NULL), payloads[i]));
    }
}

PAWL_TEST(any_other_payload_travels_as_base64)
{
    static const struct {
        const char *bytes;
        size_t size;
    } payloads[] = {{"", 0},       {"\0", 1},       {"plain text", 10}, {" {}", 3},
                    {"{}\n", 3},   {"\xff\xfe", 2}, {"{\"a\":}", 6},    {"\"\xed\xa0\x80\"", 5},
                    {"1\0002", 3}, {"NaN", 3}};

    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        pawl_message_spec content = letter_content(payloads[i].bytes, payloads[i].size);
        const pawl_envelope *envelope = there_and_back(&content);
        assert_false(pawl_envelope_payload_is_json(envelope));
        assert_payload(payloads[i].bytes, payloads[i].size, envelope);
    }
}

PAWL_TEST(json_that_is_too_deep_travels_as_base64)
{
    char deep[2 * 64];

    memset(deep, '[', 64);
    memset(deep + 64, ']', 64);
    pawl_message_spec content = letter_content(deep, sizeof deep);
    assert_false(pawl_envelope_payload_is_json(there_and_back(&content)));
    assert_payload(deep, sizeof deep, there_and_back(&content));
    content = letter_content(deep + 1, sizeof deep - 2);
    assert_true(pawl_envelope_payload_is_json(there_and_back(&content)));
    assert_payload(deep + 1, sizeof deep - 2, there_and_back(&content));
}

PAWL_TEST(headers_that_belong_to_the_envelope_are_not_the_senders)
{
    pawl_message_spec content = letter_content("1", 1);

    content.headers = "{\"rf-hmac\":\"forged\",\"RF-Version\":\"9\",\"\\u0072f-attempt\":\"7\","
                      "\"mine\":\"kept\"}";
    const pawl_envelope *envelope = there_and_back(&content);
    assert_string_equal("{\"mine\":\"kept\"}", pawl_envelope_headers(envelope));
    assert_null(pawl_envelope_hmac(envelope));
    content.headers = "{\"rf-x\":1}";
    assert_null(pawl_envelope_headers(there_and_back(&content)));
    content.headers = "{}";
    assert_null(pawl_envelope_headers(there_and_back(&content)));
}

PAWL_TEST(a_bad_source_or_scheme_is_refused)
{
    static const char *const sources[] = {NULL, "", "a\nb", "\xff"};
    pawl_message_spec content = letter_content("1", 1);
    const pawl_message *message = envelope_message(&content);
    pawli_envelope_options opts = PAWLI_ENVELOPE_OPTIONS_INIT;
    pawl_envelope *envelope = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        opts.source = sources[i];
        assert_status(PAWL_E_INVALID, pawli_envelope_encode(message, &opts, &envelope, &err), &err);
    }
    opts.source = "a";
    opts.scheme = 3;
    assert_status(PAWL_E_INVALID, pawli_envelope_encode(message, &opts, &envelope, &err), &err);
    assert_status(PAWL_E_INVALID, pawli_envelope_encode(message, NULL, &envelope, &err), &err);
    assert_status(PAWL_E_INVALID, pawli_envelope_encode(NULL, &opts, &envelope, &err), &err);
    assert_null(envelope);
}

#define HEADERS "\"headers\":{\"rf-version\":\"2.0\",\"rf-timestamp\":\"2026-02-14T12:00:00Z\"}"
#define FIELDS                                                                                     \
    "\"messageId\":\"m1\",\"sourceServiceId\":\"s\",\"messageType\":\"Signal\",\"endpoint\":\"e\""

PAWL_TEST(a_peer_may_write_it_in_its_own_way)
{
    const pawl_envelope *envelope = letter_received(
        " {\n \"headers\" : {\"rf-timestamp\":\"2026-02-14T13:00:00.5+01:00\","
        "\"rf-version\":\"2.1\",\"rf-hmac\":\"\",\"rf-payload-encoding\":\"base64\"},"
        "\"more\":[1e999,{\"payload\":1}],\"payload\": \"\\u002b\\/A=\" ,"
        "\"correlationId\":null," FIELDS "}\r\n");

    assert_string_equal("m1", pawl_envelope_id(envelope));
    assert_null(pawl_envelope_correlation_id(envelope));
    assert_null(pawl_envelope_hmac(envelope));
    assert_int_equal(0, pawl_envelope_attempt(envelope));
    assert_null(pawl_envelope_headers(envelope));
    assert_payload("\xfb\xf0", 2, envelope);
}

PAWL_TEST(an_invalid_envelope_is_refused)
{
    static const char *const texts[] = {
        "", "[]", "null", "{}", "{" FIELDS ",\"payload\":1," HEADERS,
        "{" FIELDS ",\"payload\":1," HEADERS "} x", "{" FIELDS ",\"payload\":1," HEADERS ",}",
        "{" FIELDS ",\"payload\":{\"a\":}," HEADERS "}",
        "{" FIELDS ",\"payload\":\"\xff\"," HEADERS "}", "{" FIELDS "," HEADERS "}",
        "{" FIELDS ",\"payload\":1}", "{" FIELDS ",\"payload\":1,\"headers\":[]}",
        "{" FIELDS ",\"payload\":1,\"headers\":{}}",
        /* repeated, also with escapes */
        "{" FIELDS ",\"payload\":1,\"payload\":2," HEADERS "}",
        "{" FIELDS ",\"payload\":1,\"p\\u0061yload\":2," HEADERS "}",
        "{" FIELDS ",\"p\\u0061yload\":2," HEADERS "}",
        "{" FIELDS ",\"payload\":1,\"endpoint\":\"f\"," HEADERS "}",
        "{" FIELDS ",\"payload\":1,\"x\":1,\"x\":1," HEADERS "}",
        "{" FIELDS ",\"payload\":1," HEADERS "," HEADERS "}",
        "{" FIELDS ",\"payload\":1,\"headers\":{\"rf-version\":\"2.0\",\"rf-version\":\"2.0\","
        "\"rf-timestamp\":\"2026-02-14T12:00:00Z\"}}",
        /* fields */
        "{\"messageId\":1,\"sourceServiceId\":\"s\",\"messageType\":\"Signal\",\"endpoint\":\"e\","
        "\"payload\":1," HEADERS "}",
        "{\"messageId\":\"\",\"sourceServiceId\":\"s\",\"messageType\":\"Signal\","
        "\"endpoint\":\"e\",\"payload\":1," HEADERS "}",
        "{\"messageId\":\"a\\u0000b\",\"sourceServiceId\":\"s\",\"messageType\":\"Signal\","
        "\"endpoint\":\"e\",\"payload\":1," HEADERS "}",
        "{\"messageId\":\"a\\nb\",\"sourceServiceId\":\"s\",\"messageType\":\"Signal\","
        "\"endpoint\":\"e\",\"payload\":1," HEADERS "}",
        "{\"messageId\":\"m\",\"sourceServiceId\":\"s\\u001b\",\"messageType\":\"Signal\","
        "\"endpoint\":\"e\",\"payload\":1," HEADERS "}",
        "{\"messageId\":\"m\",\"sourceServiceId\":\"s\",\"messageType\":\"signal\","
        "\"endpoint\":\"e\",\"payload\":1," HEADERS "}",
        "{\"messageId\":\"m\",\"sourceServiceId\":\"s\",\"messageType\":0,\"endpoint\":\"e\","
        "\"payload\":1," HEADERS "}",
        "{\"messageId\":\"m\",\"sourceServiceId\":\"s\",\"messageType\":\"Signal\","
        "\"endpoint\":null,\"payload\":1," HEADERS "}",
        "{" FIELDS ",\"correlationId\":7,\"payload\":1," HEADERS "}",
        /* headers */
        "{" FIELDS ",\"payload\":1,\"headers\":{\"rf-version\":\"1.0\","
        "\"rf-timestamp\":\"2026-02-14T12:00:00Z\"}}",
        "{" FIELDS ",\"payload\":1,\"headers\":{\"rf-version\":2.0,"
        "\"rf-timestamp\":\"2026-02-14T12:00:00Z\"}}",
        "{" FIELDS ",\"payload\":1,\"headers\":{\"rf-version\":\"2.0\",\"rf-timestamp\":\"now\"}}",
        "{" FIELDS ",\"payload\":1,\"headers\":{\"rf-version\":\"2.0\","
        "\"rf-timestamp\":\"2026-02-14T12:00:00Z\",\"rf-attempt\":1}}",
        "{" FIELDS ",\"payload\":1,\"headers\":{\"rf-version\":\"2.0\","
        "\"rf-timestamp\":\"2026-02-14T12:00:00Z\",\"rf-attempt\":\"0\"}}",
        "{" FIELDS ",\"payload\":1,\"headers\":{\"rf-version\":\"2.0\","
        "\"rf-timestamp\":\"2026-02-14T12:00:00Z\",\"rf-hmac\":1}}",
        "{" FIELDS ",\"payload\":1,\"headers\":{\"rf-version\":\"2.0\","
        "\"rf-timestamp\":\"2026-02-14T12:00:00Z\",\"rf-payload-encoding\":\"gzip\"}}",
        "{" FIELDS ",\"payload\":1,\"headers\":{\"rf-version\":\"2.0\","
        "\"rf-timestamp\":\"2026-02-14T12:00:00Z\",\"rf-payload-encoding\":\"base64\"}}",
        "{" FIELDS ",\"payload\":\"Zh==\",\"headers\":{\"rf-version\":\"2.0\","
        "\"rf-timestamp\":\"2026-02-14T12:00:00Z\",\"rf-payload-encoding\":\"base64\"}}"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pawl_envelope *envelope = NULL;
        pawl_error err = PAWL_ERROR_INIT;
        if (pawl_envelope_decode(texts[i], strlen(texts[i]), 0, &envelope, &err) !=
                PAWL_E_INVALID ||
            strlen(err.message) < 10 || envelope)
            test_fail("%s: %s", texts[i], err.message);
    }
    (void)letter_received("{" FIELDS ",\"payload\":1," HEADERS "}");
}

PAWL_TEST(size_and_depth_are_limited)
{
    const char *text = "{" FIELDS ",\"payload\":1," HEADERS "}";
    size_t size = strlen(text);
    pawl_envelope *envelope = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    char deep[1024];

    assert_status(PAWL_E_TOO_LARGE, pawl_envelope_decode(text, size, size - 1, &envelope, &err),
                  &err);
    assert_ok(pawl_envelope_decode(text, size, size, &envelope, &err), &err);
    pawl_envelope_free(envelope);
    envelope = NULL;
    for (int levels = 63; levels <= 64; levels++) {
        int used = snprintf(deep, sizeof deep, "{" FIELDS "," HEADERS ",\"payload\":");
        memset(deep + used, '[', (size_t)levels);
        memset(deep + used + levels, ']', (size_t)levels);
        snprintf(deep + used + (ptrdiff_t)2 * levels, 2, "}");
        pawl_status st = pawl_envelope_decode(deep, strlen(deep), 0, &envelope, &err);
        assert_status(levels == 63 ? PAWL_OK : PAWL_E_INVALID, st, &err);
        pawl_envelope_free(envelope);
        envelope = NULL;
    }
    assert_status(PAWL_E_INVALID, pawl_envelope_decode(NULL, 0, 0, &envelope, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_envelope_decode(text, size, 0, NULL, &err), &err);
}

PAWL_TEST(no_error_repeats_the_input)
{
    const char *text = "{" FIELDS ",\"payload\":{\"secret-thing\":}," HEADERS "}";
    pawl_envelope *envelope = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_INVALID, pawl_envelope_decode(text, strlen(text), 0, &envelope, &err),
                  &err);
    assert_null(strstr(err.message, "secret-thing"));
    assert_non_null(strstr(err.message, "byte"));
}
