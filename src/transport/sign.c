/* src/transport/sign.c - what exactly is signed. */
#include "sign.h"

#include <string.h>

#include "base64.h"
#include "buffer.h"
#include "fail.h"
#include "hash.h"

_Static_assert((PAWLI_HMAC_SIZE + 2) / 3 * 4 + 1 == PAWLI_SIGNATURE_TEXT_SIZE, "base64 of 32");

/* By hand, here and below: printf took as long as the HMAC, twice per message. */
static void write_hex(const uint8_t *bytes, size_t size, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        *ret_text++ = digits[bytes[i] >> 4];
        *ret_text++ = digits[bytes[i] & 15];
    }
    *ret_text = '\0';
}

/* LENGTH:BYTES, - a field cannot run into the next one. */
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
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for a signature");
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
