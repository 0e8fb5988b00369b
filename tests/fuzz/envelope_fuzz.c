/* tests/fuzz/envelope_fuzz.c - any bytes as an envelope: refused in words, or whole and repeatable.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/envelope.h>

#include "fuzz.h"
#include "json_scan.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

static int depth_of(json_t *value)
{
    const char *name;
    json_t *inner;
    size_t index;
    int deepest = 0;

    json_object_foreach(value, name, inner)
    {
        int depth = depth_of(inner);
        deepest = depth > deepest ? depth : deepest;
    }
    json_array_foreach(value, index, inner)
    {
        int depth = depth_of(inner);
        deepest = depth > deepest ? depth : deepest;
    }
    return json_is_object(value) || json_is_array(value) ? deepest + 1 : 0;
}

/* Two readers that know nothing of each other. jansson refuses more: numbers and odd characters. */
static void compare_with_jansson(const char *text, size_t size)
{
    json_error_t problem;
    bool ours = pawli_json_scan_is_value(text, size, 64);
    json_t *theirs = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);
    bool space = size > 0 && (strchr(" \t\r\n", text[0]) || strchr(" \t\r\n", text[size - 1]));

    /* jansson takes a zero byte between tokens for nothing. */
    if (theirs && !space && !memchr(text, '\0', size) && depth_of(theirs) <= 64)
        must(ours);
    if (ours && !theirs)
        must(json_error_code(&problem) == json_error_numeric_overflow ||
             memmem(text, size, "\\u", 2));
    json_decref(theirs);
}

static void same_text(const char *one, const char *other)
{
    must((one == NULL) == (other == NULL));
    must(!one || strcmp(one, other) == 0);
}

/* Parsing again gives the same result. */
static void check_whole(const pawl_envelope *envelope)
{
    size_t text_size, size, again_size;
    const char *text = pawl_envelope_text(envelope, &text_size);
    const char *payload = pawl_envelope_payload(envelope, &size);
    const char *headers = pawl_envelope_headers(envelope);
    pawl_envelope *again = NULL;

    must(strlen(pawl_envelope_id(envelope)) > 0 && strlen(pawl_envelope_source(envelope)) > 0);
    must(strlen(pawl_envelope_endpoint(envelope)) > 0 && pawl_envelope_timestamp(envelope));
    must(payload[size] == '\0' && text[text_size] == '\0');
    if (pawl_envelope_payload_is_json(envelope))
        must(pawli_json_scan_is_value(payload, size, 63) && memmem(text, text_size, payload, size));
    if (headers)
        must(pawli_json_scan_is_value(headers, strlen(headers), 63) &&
             strncmp(headers, "{\"", 2) == 0);
    must(pawl_envelope_decode(text, text_size, 0, &again, NULL) == PAWL_OK);
    must(memcmp(pawl_envelope_payload_hash(envelope), pawl_envelope_payload_hash(again), 32) == 0);
    (void)pawl_envelope_payload(again, &again_size);
    must(size == again_size);
    same_text(pawl_envelope_hmac(envelope), pawl_envelope_hmac(again));
    same_text(headers, pawl_envelope_headers(again));
    pawl_envelope_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pawl_envelope *envelope = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st = pawl_envelope_decode(data, size, 1 << 20, &envelope, &err);

    compare_with_jansson((const char *)data, size);
    if (st == PAWL_OK)
        check_whole(envelope);
    else
        must((st == PAWL_E_INVALID || st == PAWL_E_TOO_LARGE) && strlen(err.message) > 10 &&
             !envelope);
    pawl_envelope_free(envelope);
    return 0;
}
