/* src/transport/envelope_fixture.h - messages and envelopes for tests. */
#ifndef PAWLI_ENVELOPE_FIXTURE_H
#define PAWLI_ENVELOPE_FIXTURE_H

#include <string.h>

#include <pawl/net.h>
#include <pawl/sys/strategy.h>

#include "test.h"
#include "signature.h"
#include "envelope.h"

#define LETTER_SECRET "correct horse battery staple"
#define LETTER_NOON INT64_C(1771070400000000) /* 2026-02-14T12:00:00Z */
#define LETTER_ID "a1b2c3d4-e5f6-7890-abcd-ef1234567890"

static inline void letter_free_messages(void *list)
{
    pawl_messages_free(list);
}

static inline void letter_free_envelope(void *envelope)
{
    pawl_envelope_free(envelope);
}

static inline void letter_free_secrets(void *secrets)
{
    pawli_secrets_free(secrets);
}

/* A message with this content, freed when the test ends. */
static inline const pawl_message *envelope_message(const pawl_message_spec *content)
{
    pawl_message_image image = PAWL_MESSAGE_IMAGE_INIT;
    pawl_messages *list = NULL;
    pawl_message_spec checked = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_message_spec_check(content, &checked, &err), &err);
    image.content = &checked;
    assert_ok(pawl_messages_new(&list, &err), &err);
    test_defer(letter_free_messages, list);
    assert_ok(pawl_messages_append(list, &image, &err), &err);
    return pawl_messages_at(list, 0);
}

/* The message of the examples in docs/wire.md. */
static inline pawl_message_spec letter_content(const void *payload, size_t size)
{
    pawl_message_spec content = PAWL_MESSAGE_SPEC_INIT;

    assert_ok(pawl_uuid_parse(LETTER_ID, &content.id, NULL), NULL);
    content.topic = "OrderApproved";
    content.payload = payload;
    content.payload_size = size;
    content.correlation_id = "order-17";
    return content;
}

static inline pawli_secrets *letter_secrets(const char *first, const char *second)
{
    pawli_secrets *secrets = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_secrets_new(&secrets, &err), &err);
    test_defer(letter_free_secrets, secrets);
    if (first)
        assert_ok(pawli_secrets_add(secrets, first, strlen(first), &err), &err);
    if (second)
        assert_ok(pawli_secrets_add(secrets, second, strlen(second), &err), &err);
    return secrets;
}

/* Encoded with the usual options; freed when the test ends. */
static inline const pawl_envelope *letter_envelope(const pawl_message_spec *content,
                                                   const pawli_secrets *secrets, int scheme)
{
    pawli_envelope_options opts = PAWLI_ENVELOPE_OPTIONS_INIT;
    pawl_envelope *envelope = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    opts.source = "inventory-service";
    opts.secrets = secrets;
    opts.scheme = scheme;
    opts.now = (pawl_wall){LETTER_NOON};
    assert_ok(pawli_envelope_encode(envelope_message(content), &opts, &envelope, &err), &err);
    test_defer(letter_free_envelope, envelope);
    return envelope;
}

/* Decoded from `text`; freed when the test ends. */
static inline const pawl_envelope *letter_received(const char *text)
{
    pawl_envelope *envelope = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_envelope_decode(text, strlen(text), 0, &envelope, &err), &err);
    test_defer(letter_free_envelope, envelope);
    return envelope;
}

#endif
