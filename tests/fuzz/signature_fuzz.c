/* tests/fuzz/signature_fuzz.c - any text as rf-hmac and rf-timestamp: never accepted by accident.
 */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "fuzz.h"
#include "signature.h"

/* As a JSON string; special characters are escaped. */
static void quote(pawli_buffer *buffer, const uint8_t *bytes, size_t size)
{
    pawli_buffer_text(buffer, "\"");
    for (size_t i = 0; i < size; i++)
        if (bytes[i] < 0x20 || bytes[i] > 0x7e || bytes[i] == '"' || bytes[i] == '\\')
            pawli_buffer_format(buffer, "\\u%04x", (unsigned)bytes[i]);
        else
            pawli_buffer_append(buffer, &bytes[i], 1);
    pawli_buffer_text(buffer, "\"");
}

static pawl_envelope *envelope_with(const uint8_t *hmac, size_t hmac_size, const uint8_t *time,
                                    size_t time_size)
{
    pawl_envelope *envelope = NULL;
    PAWLI_AUTO_BUFFER text = {0};

    pawli_buffer_text(&text, "{\"messageId\":\"a1b2c3d4-e5f6-7890-abcd-ef1234567890\","
                             "\"correlationId\":\"order-17\","
                             "\"sourceServiceId\":\"inventory-service\",\"messageType\":\"Signal\","
                             "\"endpoint\":\"OrderApproved\",\"payload\":{\"orderId\":17},"
                             "\"headers\":{\"rf-version\":\"2.0\",\"rf-hmac\":");
    quote(&text, hmac, hmac_size);
    pawli_buffer_text(&text, ",\"rf-timestamp\":");
    quote(&text, time, time_size);
    pawli_buffer_text(&text, "}}");
    if (text.failed || pawl_envelope_decode(text.data, text.size, 0, &envelope, NULL) != PAWL_OK)
        return NULL;
    return envelope;
}

/* The first byte: the scheme (its lowest bit) and the length of rf-hmac; the rest is rf-timestamp.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char secret[] = "correct horse battery staple";
    /* The only right ones, for this message at noon; see docs/wire.md. */
    static const char *const right[] = {"4jnBYMMj1Eoj4aLzJuEQ1+rFB8gD6QacDS838td5p3o=",
                                        "7tkEzyPOoR68TCTvfinVsGpg4FnqNoLNoodQat6Tlz0="};
    pawli_signature_options opts = PAWLI_SIGNATURE_OPTIONS_INIT;
    pawli_secrets *secrets = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    if (size < 1 || pawli_secrets_new(&secrets, NULL) != PAWL_OK)
        return 0;
    size_t length = data[0] >> 1;
    if (length > size - 1)
        length = size - 1;
    pawl_envelope *envelope = envelope_with(data + 1, length, data + 1 + length, size - 1 - length);
    opts.scheme = data[0] & 1 ? PAWL_SCHEME_1 : PAWL_SCHEME_2;
    opts.now = (pawl_wall){INT64_C(1771070400000000)};
    if (envelope && pawli_secrets_add(secrets, secret, sizeof secret - 1, NULL) == PAWL_OK) {
        const char *hmac = pawl_envelope_hmac(envelope);
        bool is_two = hmac && strcmp(hmac, right[0]) == 0;
        bool is_one = hmac && strcmp(hmac, right[1]) == 0;
        pawl_status st = pawli_signature_check(envelope, secrets, &opts, &err);
        if (st == PAWL_OK && !is_two && !(is_one && opts.scheme == PAWL_SCHEME_1))
            abort();
        if (st != PAWL_OK && (st != PAWL_E_DENIED || strlen(err.message) < 10))
            abort();
    }
    pawl_envelope_free(envelope);
    pawli_secrets_free(secrets);
    return 0;
}
