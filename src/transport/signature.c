/* src/transport/signature.c - signs envelopes and verifies signatures. */
#include <inttypes.h>
#include <string.h>

#include "base64.h"
#include "buffer.h"
#include "fail.h"
#include "hash.h"
#include "options.h"
#include "platform.h"
#include "sign.h"
#include "timestamp.h"
#include "signature.h"

/* ---- verifying: signed with one of the secrets, and recently ---- */

#define WINDOW_MIN_MS 1000
#define WINDOW_MAX_MS INT64_C(86400000)

static pawl_status signature_check_options(const pawli_signature_options *given,
                                           pawli_signature_options *opts, pawl_error *err)
{
    pawl_status st = pawli_options_copy(opts, sizeof *opts, given, err);

    if (st != PAWL_OK)
        return st;
    if (opts->scheme != PAWL_SCHEME_1 && opts->scheme != PAWL_SCHEME_2)
        return pawli_fail(err, PAWL_E_INVALID, "signature scheme %d is unknown: 1 or 2",
                          opts->scheme);
    if (opts->window_ms < WINDOW_MIN_MS || opts->window_ms > WINDOW_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID,
                          "window_ms %" PRId64 " is out of range: 1000 to 86400000",
                          opts->window_ms);
    if (opts->now.us == 0)
        opts->now = pawli_wall_now();
    return PAWL_OK;
}

/* Tries all secrets, even after a match, so that the duration does not reveal which one matched. */
static pawl_status signature_matches(const pawli_signed *what, int scheme,
                                     const pawli_secrets *secrets,
                                     const uint8_t given[PAWLI_HMAC_SIZE], bool *ret_match,
                                     pawl_error *err)
{
    bool match = false;

    for (size_t i = 0; i < secrets->count; i++) {
        uint8_t code[PAWLI_HMAC_SIZE];
        pawl_status st = pawli_sign(what, scheme, &secrets->items[i], code, err);
        if (st != PAWL_OK)
            return st;
        match |= pawli_memeq_consttime(code, given, sizeof code);
    }
    *ret_match = match;
    return PAWL_OK;
}

static pawl_status check_age(const pawl_envelope *envelope, const pawli_signature_options *opts,
                             pawl_error *err)
{
    pawl_wall sent;
    int64_t window_us = opts->window_ms * 1000;

    if (!pawli_timestamp_parse(pawl_envelope_timestamp(envelope), &sent))
        return pawli_fail(err, PAWL_E_DENIED, "rf-timestamp is not a valid time");
    if (sent.us < opts->now.us - window_us)
        return pawli_fail(err, PAWL_E_DENIED,
                          "the signature is %" PRId64 " s old, and the maximum is %" PRId64
                          " s: it was replayed, or the clocks differ",
                          (opts->now.us - sent.us) / 1000000, opts->window_ms / 1000);
    if (sent.us > opts->now.us + window_us)
        return pawli_fail(err, PAWL_E_DENIED,
                          "the signature is from %" PRId64 " s in the future: the clocks differ",
                          (sent.us - opts->now.us) / 1000000);
    return PAWL_OK;
}

static pawl_status read_hmac(const pawl_envelope *envelope, uint8_t ret_code[PAWLI_HMAC_SIZE],
                             pawl_error *err)
{
    const char *text = pawl_envelope_hmac(envelope);
    uint8_t room[PAWLI_SIGNATURE_TEXT_SIZE];
    size_t size;

    if (!text || !text[0])
        return pawli_fail(err, PAWL_E_DENIED, "the message is not signed");
    if (strlen(text) != PAWLI_SIGNATURE_TEXT_SIZE - 1 ||
        !pawli_base64_decode(text, strlen(text), room, &size) || size != PAWLI_HMAC_SIZE)
        return pawli_fail(err, PAWL_E_DENIED, "rf-hmac is not a signature: base64 of 32 bytes");
    memcpy(ret_code, room, PAWLI_HMAC_SIZE);
    return PAWL_OK;
}

pawl_status pawli_signature_check(const pawl_envelope *envelope, const pawli_secrets *secrets,
                                  const pawli_signature_options *given, pawl_error *err)
{
    pawli_signature_options opts = PAWLI_SIGNATURE_OPTIONS_INIT;
    uint8_t code[PAWLI_HMAC_SIZE];
    bool match = false;
    pawl_status st;

    if (!envelope)
        return pawli_fail(err, PAWL_E_INVALID, "envelope must not be NULL");
    st = signature_check_options(given, &opts, err);
    if (st != PAWL_OK)
        return st;
    if (pawli_secrets_count(secrets) == 0)
        return pawli_fail(err, PAWL_E_DENIED,
                          "no secret is configured to verify the signature with");
    st = read_hmac(envelope, code, err);
    if (st != PAWL_OK)
        return st;
    const pawli_signed what = {pawl_envelope_version(envelope),
                               pawl_envelope_timestamp(envelope),
                               pawl_envelope_id(envelope),
                               pawl_envelope_source(envelope),
                               pawl_type_wire_name(pawl_envelope_type(envelope)),
                               pawl_envelope_endpoint(envelope),
                               pawl_envelope_correlation_id(envelope),
                               pawl_envelope_payload_hash(envelope)};
    st = signature_matches(&what, PAWL_SCHEME_2, secrets, code, &match, err);
    if (st == PAWL_OK && match)
        return check_age(envelope, &opts, err);
    if (st == PAWL_OK && opts.scheme == PAWL_SCHEME_1)
        st = signature_matches(&what, PAWL_SCHEME_1, secrets, code, &match, err);
    if (st == PAWL_OK && !match)
        st = pawli_fail(err, PAWL_E_DENIED, "the signature is wrong");
    return st;
}

/* ---- the signed bytes ---- */

_Static_assert((PAWLI_HMAC_SIZE + 2) / 3 * 4 + 1 == PAWLI_SIGNATURE_TEXT_SIZE, "base64 of 32");

/* Formats by hand, here and below: printf took as long as the HMAC, twice per message. */
static void write_hex(const uint8_t *bytes, size_t size, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        *ret_text++ = digits[bytes[i] >> 4];
        *ret_text++ = digits[bytes[i] & 15];
    }
    *ret_text = '\0';
}

/* Writes LENGTH:BYTES, so that fields cannot be confused. */
static void add_field(pawli_buffer *buffer, const char *text)
{
    char head[24];
    size_t at = sizeof head, length = strlen(text), left = length;

    head[--at] = ':';
    do {
        head[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    pawli_buffer_append(buffer, head + at, sizeof head - at);
    pawli_buffer_append(buffer, text, length);
    pawli_buffer_text(buffer, ",");
}

static void sign_lay_out(pawli_buffer *buffer, const pawli_signed *what, int scheme)
{
    char hash[2 * PAWLI_SHA256_SIZE + 1];

    write_hex(what->payload_hash, PAWLI_SHA256_SIZE, hash);
    if (scheme == PAWL_SCHEME_1) {
        pawli_buffer_text(buffer, what->id);
        pawli_buffer_text(buffer, what->source);
        pawli_buffer_text(buffer, what->endpoint);
        pawli_buffer_text(buffer, hash);
        return;
    }
    const char *const fields[] = {"rf-hmac-2",
                                  what->version,
                                  what->timestamp,
                                  what->id,
                                  what->source,
                                  what->type,
                                  what->endpoint,
                                  what->correlation_id ? what->correlation_id : "",
                                  hash};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        add_field(buffer, fields[i]);
}

pawl_status pawli_sign(const pawli_signed *what, int scheme, const pawli_secret *secret,
                       uint8_t ret_code[PAWLI_HMAC_SIZE], pawl_error *err)
{
    PAWLI_AUTO_BUFFER buffer = {0};

    sign_lay_out(&buffer, what, scheme);
    if (buffer.failed ||
        !pawli_hmac_sha256(secret->bytes, secret->size, buffer.data, buffer.size, ret_code))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a signature");
    return PAWL_OK;
}

pawl_status pawli_sign_text(const pawli_signed *what, int scheme, const pawli_secret *secret,
                            char ret_text[PAWLI_SIGNATURE_TEXT_SIZE], pawl_error *err)
{
    uint8_t code[PAWLI_HMAC_SIZE];
    pawl_status st = pawli_sign(what, scheme, secret, code, err);

    if (st != PAWL_OK)
        return st;
    pawli_base64_encode(code, sizeof code, ret_text);
    ret_text[PAWLI_SIGNATURE_TEXT_SIZE - 1] = '\0';
    return PAWL_OK;
}
