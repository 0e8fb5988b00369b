/* src/core/message_spec.c - validates a message to send, and converts it to parameters. */
#include "message_spec.h"

#include <string.h>

#include "fail.h"
#include "json.h"
#include "bounds.h"
#include "options.h"
#include "text.h"

#define REMOTE_TTL_MS ((int64_t)PAWLI_TTL_REMOTE)

#define X(upper, name, type) #name,
const char *const pawli_message_spec_names[SPEC_COLUMNS] = {PAWLI_SPEC_COLUMNS(X)};
#undef X
#define X(upper, name, type) PAWLI_##type,
const pawli_type pawli_message_spec_types[SPEC_COLUMNS] = {PAWLI_SPEC_COLUMNS(X)};
#undef X

/* `least` to `most` characters of UTF-8. */
static pawl_status check_text(const char *text, const char *what, size_t least, size_t most,
                              pawl_error *err)
{
    size_t characters;

    if (!pawli_utf8_check(text, strlen(text), &characters))
        return pawli_fail(err, PAWL_E_INVALID, "the %s is not valid UTF-8", what);
    if (characters < least)
        return pawli_fail(err, PAWL_E_INVALID, "the %s must not be empty", what);
    if (characters > most)
        return pawli_fail(err, PAWL_E_INVALID, "the %s has %zu characters; the maximum is %zu",
                          what, characters, most);
    return PAWL_OK;
}

static pawl_status spec_check_keys(const pawl_message_spec *message, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    if (message->ordering_key)
        st = check_text(message->ordering_key, "ordering key", 1, PAWL_ORDERING_KEY_MAX, err);
    if (st == PAWL_OK && message->unique_key)
        st = check_text(message->unique_key, "unique key", 1, PAWL_UNIQUE_KEY_MAX, err);
    if (st == PAWL_OK && message->tag_count > PAWL_TAGS_MAX)
        st = pawli_fail(err, PAWL_E_INVALID, "the message has %zu tags; the maximum is %d",
                        message->tag_count, PAWL_TAGS_MAX);
    if (st == PAWL_OK && message->tag_count > 0 && !message->tags)
        st = pawli_fail(err, PAWL_E_INVALID, "tags must not be NULL where tag_count is not 0");
    for (size_t i = 0; st == PAWL_OK && message->tags && i < message->tag_count; i++) {
        if (!message->tags[i])
            st = pawli_fail(err, PAWL_E_INVALID, "a tag must not be NULL");
        else
            st = check_text(message->tags[i], "tag", 1, PAWL_TAG_MAX, err);
    }
    return st;
}

static pawl_status check_texts(const pawl_message_spec *message, pawl_error *err)
{
    pawl_status st;

    if (!message->topic)
        return pawli_fail(err, PAWL_E_INVALID, "the topic must not be NULL");
    st = check_text(message->topic, "topic", 1, PAWL_TOPIC_MAX, err);
    if (st == PAWL_OK && message->correlation_id)
        st = check_text(message->correlation_id, "correlation id", 0, PAWL_CORRELATION_MAX, err);
    if (st == PAWL_OK && message->destination)
        st = check_text(message->destination, "destination", 1, PAWL_DESTINATION_MAX, err);
    /* The destination is part of an index entry, which must fit on a page. */
    if (st == PAWL_OK && message->destination &&
        strlen(message->destination) > PAWL_DESTINATION_MAX)
        st = pawli_fail(err, PAWL_E_INVALID,
                        "the destination is longer than the maximum of %d bytes",
                        PAWL_DESTINATION_MAX);
    if (st != PAWL_OK || !message->headers)
        return st;
    size_t size = strlen(message->headers);
    if (size > (size_t)PAWLI_HEADERS_MAX)
        return pawli_fail(err, PAWL_E_TOO_LARGE, "the headers are %zu bytes; the maximum is %zu",
                          size, (size_t)PAWLI_HEADERS_MAX);
    return pawli_json_check_object(message->headers, size, "headers", err);
}

static bool is_time(pawl_wall at, int64_t least_ms)
{
    return at.us >= least_ms * 1000 && at.us <= INT64_C(1000) * PAWLI_TIME_MAX + 999;
}

static pawl_status spec_check_times(const pawl_message_spec *message, pawl_error *err)
{
    if (message->delay_ms < 0 || message->delay_ms > PAWLI_DELAY_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "delay_ms must be " PAWLI_DELAY_RANGE);
    if (message->delay_ms > 0 && message->due_at.us != 0)
        return pawli_fail(err, PAWL_E_INVALID, "due_at and delay_ms exclude each other: set one");
    if (!is_time(message->due_at, PAWLI_TIME_MIN))
        return pawli_fail(err, PAWL_E_INVALID,
                          "due_at is microseconds since 1970 and must be " PAWLI_TIME_RANGE);
    if (!is_time(message->expires_at, 0))
        return pawli_fail(err, PAWL_E_INVALID,
                          "expires_at is microseconds since 1970 and must be " PAWLI_EXPIRY_RANGE);
    if (message->expires_at.us != 0 && message->expires_at.us <= message->due_at.us)
        return pawli_fail(err, PAWL_E_INVALID, "expires_at must be after due_at");
    if (message->lease_ms < 0 || message->lease_ms > PAWLI_LEASE_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "lease_ms must be 0 (the lease of the claim) to 7 days");
    if (message->timeout_ms < 0 || message->timeout_ms > PAWLI_LEASE_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "timeout_ms must be 0 (the handler's timeout) to 7 days");
    if (message->heartbeat_ms < 0 || message->heartbeat_ms > PAWLI_LEASE_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "heartbeat_ms must be 0 (derived from the lease) to 7 days");
    if (message->lease_ms > 0 && message->heartbeat_ms >= message->lease_ms)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "heartbeat_ms must be less than lease_ms, or the lease expires before it is renewed");
    return PAWL_OK;
}

static bool has_backoff(const pawl_backoff *policy)
{
    return policy->base_ms != 0 || policy->max_ms != 0 || policy->jitter_ms != 0;
}

static bool counts_all(const pawl_message_spec *message)
{
    return message->destination && message->count == PAWL_COUNT_ALL;
}

static pawl_status spec_check_numbers(const pawl_message_spec *message, pawl_error *err)
{
    const pawl_backoff *policy = &message->backoff;

    if ((unsigned)message->type > PAWL_TYPE_RESPONSE)
        return pawli_fail(err, PAWL_E_INVALID, "the type must be one of PAWL_TYPE_...");
    if (message->priority < 0 || message->priority > PAWL_PRIORITY_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the priority is %d: it must be 0 to %d",
                          message->priority, PAWL_PRIORITY_MAX);
    if ((unsigned)message->count > PAWL_COUNT_ALL)
        return pawli_fail(err, PAWL_E_INVALID, "count must be one of PAWL_COUNT_...");
    if (message->max_attempts < 0 || message->max_attempts > PAWLI_ATTEMPTS_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "max_attempts must be 0 (default) to %d",
                          PAWLI_ATTEMPTS_MAX);
    if (has_backoff(policy) &&
        (policy->base_ms < 1 || policy->max_ms < policy->base_ms ||
         policy->jitter_ms < PAWL_JITTER_TENTH || policy->max_ms > PAWLI_BACKOFF_MAX ||
         policy->jitter_ms > PAWLI_JITTER_MAX))
        return pawli_fail(err, PAWL_E_INVALID,
                          "backoff needs base_ms > 0, max_ms >= base_ms, jitter_ms >= 0 (or "
                          "PAWL_JITTER_TENTH), and no value above 30 days");
    return PAWL_OK;
}

pawl_status pawli_message_spec_read(const pawl_message_spec *given, size_t max_payload_bytes,
                                    pawl_message_spec *message, bool *ret_made_id, pawl_error *err)
{
    pawl_status st;

    *message = (pawl_message_spec)PAWL_MESSAGE_SPEC_INIT;
    if (!given)
        return pawli_fail(err, PAWL_E_INVALID, "the message must not be NULL");
    st = pawli_options_copy(message, sizeof *message, given, err);
    if (st != PAWL_OK)
        return st;
    if (!message->payload)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the payload must not be NULL: pass \"\" with size 0 for an empty one");
    if (message->payload_size > max_payload_bytes)
        return pawli_fail(err, PAWL_E_TOO_LARGE,
                          "the payload is %zu bytes; this engine's maximum is %zu: store it "
                          "elsewhere and send a reference",
                          message->payload_size, max_payload_bytes);
    st = check_texts(message, err);
    if (st == PAWL_OK)
        st = spec_check_keys(message, err);
    if (st == PAWL_OK)
        st = spec_check_times(message, err);
    if (st == PAWL_OK)
        st = spec_check_numbers(message, err);
    if (st != PAWL_OK)
        return st;
    if (counts_all(message) && !has_backoff(&message->backoff))
        message->backoff = (pawl_backoff)PAWL_BACKOFF_ALL;
    *ret_made_id = pawl_uuid_is_zero(message->id);
    if (*ret_made_id)
        message->id = pawl_uuid_new();
    if (message->correlation_id && !*message->correlation_id)
        message->correlation_id = NULL;
    return PAWL_OK;
}

bool pawli_message_spec_is_plain(const pawl_message_spec *message)
{
    return !message->destination && !message->headers && !message->correlation_id &&
           message->due_at.us == 0 && message->delay_ms == 0 && message->expires_at.us == 0 &&
           message->lease_ms == 0 && message->timeout_ms == 0 && message->heartbeat_ms == 0 &&
           !message->ordering_key && !message->unique_key && message->tag_count == 0 &&
           !has_backoff(&message->backoff);
}

int pawli_message_spec_attempts(const pawl_message_spec *message)
{
    if (message->max_attempts != 0)
        return message->max_attempts;
    if (counts_all(message))
        return PAWL_MAX_ATTEMPTS_ALL;
    return message->destination ? PAWL_MAX_ATTEMPTS_REMOTE : PAWL_MAX_ATTEMPTS_LOCAL;
}

pawl_wall pawli_message_spec_due(const pawl_message_spec *message, pawl_wall now)
{
    if (message->due_at.us != 0)
        return message->due_at;
    return (pawl_wall){now.us + message->delay_ms * 1000};
}

pawl_wall pawli_message_spec_expiry(const pawl_message_spec *message, pawl_wall run_at)
{
    if (message->expires_at.us != 0 || !message->destination)
        return message->expires_at;
    return (pawl_wall){run_at.us + REMOTE_TTL_MS * 1000};
}

bool pawli_message_spec_same(const pawl_message_spec *a, const pawl_message_spec *b)
{
    return strcmp(a->topic, b->topic) == 0 && a->payload_size == b->payload_size &&
           memcmp(a->payload, b->payload, a->payload_size) == 0;
}

pawl_status pawli_message_spec_conflict(const pawl_message_spec *message, pawl_error *err)
{
    char id[PAWL_UUID_TEXT_SIZE];

    pawl_uuid_format(message->id, id);
    return pawli_fail(err, PAWL_E_CONFLICT,
                      "message id %s exists with a different topic or payload: nothing was stored",
                      id);
}

pawl_status pawli_message_spec_check_batch(size_t count, size_t bytes, pawl_error *err)
{
    if (count > 1 && bytes > PAWL_BATCH_MAX_BYTES)
        return pawli_fail(err, PAWL_E_TOO_LARGE,
                          "the batch has more than %zu bytes of payload: split it",
                          PAWL_BATCH_MAX_BYTES);
    return PAWL_OK;
}

static pawli_value spec_span_or_null(int64_t ms)
{
    return ms > 0 ? pawli_span_ms(ms) : pawli_null(PAWLI_SPAN);
}

pawli_value pawli_jitter(const pawl_backoff *policy)
{
    return policy->jitter_ms == PAWL_JITTER_TENTH ? pawli_null(PAWLI_SPAN)
                                                  : pawli_span_ms(policy->jitter_ms);
}

void pawli_message_spec_lay_out(const pawl_message_spec *message, size_t position,
                                pawli_value values[SPEC_COLUMNS])
{
    bool remote = message->destination != NULL;
    bool own_backoff = has_backoff(&message->backoff);

    values[SPEC_POSITION] = pawli_int((int64_t)position);
    values[SPEC_MESSAGE_ID] = pawli_uuid(message->id.bytes);
    values[SPEC_TOPIC] = pawli_text(message->topic);
    values[SPEC_PAYLOAD] = pawli_bytes(message->payload, message->payload_size);
    values[SPEC_TYPE] = pawli_int(message->type);
    values[SPEC_DESTINATION] = pawli_text(message->destination);
    values[SPEC_HEADERS] = pawli_text(message->headers);
    values[SPEC_CORRELATION_ID] = pawli_text(message->correlation_id);
    values[SPEC_PRIORITY] = pawli_int(message->priority);
    values[SPEC_DUE_AT] = pawli_time(message->due_at);
    values[SPEC_DELAY] = spec_span_or_null(message->delay_ms);
    values[SPEC_EXPIRES_AT] = pawli_time(message->expires_at);
    values[SPEC_TTL] = remote ? pawli_span_ms(REMOTE_TTL_MS) : pawli_null(PAWLI_SPAN);
    values[SPEC_MAX_ATTEMPTS] = pawli_int(pawli_message_spec_attempts(message));
    values[SPEC_LEASE] = spec_span_or_null(message->lease_ms);
    values[SPEC_RETRY_BASE] = spec_span_or_null(message->backoff.base_ms);
    values[SPEC_RETRY_MAX] = spec_span_or_null(message->backoff.max_ms);
    values[SPEC_RETRY_JITTER] =
        own_backoff ? pawli_jitter(&message->backoff) : pawli_null(PAWLI_SPAN);
    values[SPEC_TIMEOUT] = spec_span_or_null(message->timeout_ms);
    values[SPEC_HEARTBEAT] = spec_span_or_null(message->heartbeat_ms);
    values[SPEC_COUNT_ALL] = remote && message->count != PAWL_COUNT_DEFAULT
                                 ? pawli_bool(counts_all(message))
                                 : pawli_null(PAWLI_BOOL);
    values[SPEC_ORDERING_KEY] = pawli_text(message->ordering_key);
    values[SPEC_UNIQUE_KEY] = pawli_text(message->unique_key);
    values[SPEC_TAGS] = message->tag_count > 0 ? pawli_texts(message->tags, message->tag_count)
                                               : pawli_null(PAWLI_TEXTS);
    values[SPEC_OTHER_LANE] = pawli_bool(true); /* set until the rows are sorted */
}
