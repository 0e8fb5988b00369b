/* src/transport/ack_test.c - encoding and decoding acknowledgements. */
#include <string.h>

#include "test.h"
#include "ack.h"

static void free_ack(void *ack)
{
    pawli_ack_free(ack);
}

static const pawli_ack *encoded(const pawli_ack_content *content)
{
    pawli_ack *ack = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_ack_encode(content, &ack, &err), &err);
    test_defer(free_ack, ack);
    return ack;
}

static const pawli_ack *decoded(const char *text)
{
    pawli_ack *ack = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_ack_decode(text, strlen(text), &ack, &err), &err);
    test_defer(free_ack, ack);
    return ack;
}

PAWL_TEST(an_acknowledgement_has_the_fields_of_the_wire_format)
{
    pawli_ack_content content = PAWLI_ACK_CONTENT_INIT;

    content.acknowledged = true;
    content.payload = "{ \"total\": 1.50 }";
    content.payload_size = 17;
    assert_string_equal("{\"acknowledged\":true,\"duplicateDetected\":false,"
                        "\"payload\":{ \"total\": 1.50 },\"error\":null}",
                        pawli_ack_text(encoded(&content), NULL));
    content = (pawli_ack_content)PAWLI_ACK_CONTENT_INIT;
    content.duplicate = true;
    content.error = "not \"now\"\n";
    assert_string_equal("{\"acknowledged\":false,\"duplicateDetected\":true,\"payload\":null,"
                        "\"error\":\"not \\\"now\\\"\\u000a\"}",
                        pawli_ack_text(encoded(&content), NULL));
}

PAWL_TEST(payloads_come_back_byte_by_byte)
{
    static const struct {
        const char *bytes;
        size_t size;
    } payloads[] = {{"", 0}, {"null", 4}, {"x\0y", 3}, {" 1", 2}, {"[1 ]", 4}, {"\"\"", 2}};

    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        pawli_ack_content content = PAWLI_ACK_CONTENT_INIT;
        size_t size = 99;
        content.payload = payloads[i].bytes;
        content.payload_size = payloads[i].size;
        const pawli_ack *ack = decoded(pawli_ack_text(encoded(&content), NULL));
        const char *payload = pawli_ack_payload(ack, &size);
        if (strcmp(payloads[i].bytes, "null") == 0) { /* on the wire the same as no payload */
            assert_null(payload);
            continue;
        }
        assert_int_equal(payloads[i].size, size);
        assert_memory_equal(payloads[i].bytes, payload, size);
        assert_int_equal('\0', payload[size]);
    }
}

PAWL_TEST(a_peer_may_write_it_in_its_own_way)
{
    const pawli_ack *ack =
        decoded(" {\"error\":\"why\",\"other\":[1e999],\n\"acknowledged\" : false}");

    assert_false(pawli_ack_acknowledged(ack));
    assert_false(pawli_ack_duplicate(ack));
    assert_string_equal("why", pawli_ack_error(ack));
    assert_null(pawli_ack_payload(ack, NULL));
    ack = decoded("{\"acknowledged\":true,\"duplicateDetected\":true,\"payload\": [ ] ,"
                  "\"payloadEncoding\":null,\"error\":null}");
    assert_true(pawli_ack_acknowledged(ack) && pawli_ack_duplicate(ack));
    assert_string_equal("[ ]", pawli_ack_payload(ack, NULL));
    assert_null(pawli_ack_error(ack));
}

PAWL_TEST(an_invalid_acknowledgement_is_refused)
{
    static const char *const texts[] = {"",
                                        "ok",
                                        "[]",
                                        "{}",
                                        "<html>",
                                        "{\"Acknowledged\":true}",
                                        "{\"acknowledged\":\"true\"}",
                                        "{\"acknowledged\":1}",
                                        "{\"acknowledged\":true,\"acknowledged\":false}",
                                        "{\"acknowledged\":true,\"duplicateDetected\":1}",
                                        "{\"acknowledged\":true,\"error\":1}",
                                        "{\"acknowledged\":true,\"payload\":}",
                                        "{\"acknowledged\":true,\"payloadEncoding\":\"gzip\"}",
                                        "{\"acknowledged\":true} x"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pawli_ack *ack = NULL;
        pawl_error err = PAWL_ERROR_INIT;
        if (pawli_ack_decode(texts[i], strlen(texts[i]), &ack, &err) != PAWL_E_INVALID || ack)
            test_fail("taken: %s", texts[i]);
    }
}

PAWL_TEST(a_payload_that_is_announced_as_base64_must_be_it)
{
    static const char *const payloads[] = {"1", "\"Z\"", "null", "\"Zm9v Zm9v\""};

    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        const char *text = test_note(
            "{\"acknowledged\":true,\"payload\":%s,\"payloadEncoding\":\"base64\"}", payloads[i]);
        pawli_ack *ack = NULL;
        pawl_error err = PAWL_ERROR_INIT;
        assert_status(PAWL_E_INVALID, pawli_ack_decode(text, strlen(text), &ack, &err), &err);
    }
}

PAWL_TEST(a_long_or_malformed_error_is_cut_and_cleaned)
{
    char text[6000];
    pawli_ack_content content = PAWLI_ACK_CONTENT_INIT;

    memset(text, 'x', sizeof text - 1);
    text[0] = '\xff';
    text[sizeof text - 1] = '\0';
    content.error = text;
    const pawli_ack *ack = decoded(pawli_ack_text(encoded(&content), NULL));
    assert_int_equal('?', pawli_ack_error(ack)[0]);
    assert_int_equal(4095, strlen(pawli_ack_error(ack)));
}
