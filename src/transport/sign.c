/* src/transport/sign.c - what exactly is signed. */
#include "sign.h"

#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "buffer.h"
#include "fail.h"
#include "hash.h"

_Static_assert((PAWLI_HMAC_SIZE + 2) / 3 * 4 + 1 == PAWLI_SIGNATURE_TEXT_SIZE, "base64 of 32");

/* LENGTH:BYTES, - a field cannot run into the next one. */
static void add_field(pawli_buffer *buffer, const char *text)
{
    pawli_buffer_format(buffer, "%zu:", strlen(text));
    pawli_buffer_text(buffer, text);
    pawli_buffer_text(buffer, ",");
}

static void lay_out(pawli_buffer *buffer, const pawli_signed *what, int scheme)
{
    char hash[2 * PAWLI_SHA256_SIZE + 1];

    for (size_t i = 0; i < PAWLI_SHA256_SIZE; i++)
        snprintf(hash + 2 * i, 3, "%02x", what->payload_hash[i]);
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

    lay_out(&buffer, what, scheme);
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
