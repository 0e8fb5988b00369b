/* src/cli/commands/compose.c - a message to send, from the words and options of a command line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "compose.h"
#include "console.h"
#include "fail.h"
#include "alloc.h"
#include "scope.h"
#include "terminal_text.h"

/* No database takes more; stops reading from something endless. */
#define MOST_BYTES ((size_t)1 << 30)
#define FIRST_BYTES ((size_t)65536)

pawl_status cli_payload_read_stdin(char **ret_bytes, size_t *ret_size, pawl_error *err)
{
    PAWLI_AUTO_FREE char *bytes = cli_alloc(FIRST_BYTES, 1);
    size_t capacity = FIRST_BYTES;
    size_t size = 0;

    if (isatty(STDIN_FILENO) == 1)
        cli_note("reading the payload from the terminal; end it with Ctrl-D");
    for (;;) {
        ssize_t got = read(STDIN_FILENO, bytes + size, capacity - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return pawli_fail(err, PAWL_E_IO, "cannot read the payload from stdin: %s",
                              strerror(errno));
        if (got == 0)
            break;
        size += (size_t)got;
        if (size > MOST_BYTES)
            return pawli_fail(err, PAWL_E_TOO_LARGE, "the payload on stdin is larger than 1 GiB");
        if (size == capacity)
            bytes = cli_grow(bytes, capacity *= 2, 1);
    }
    *ret_bytes = bytes;
    *ret_size = size;
    bytes = NULL;
    return PAWL_OK;
}

static pawl_status read_message_type(const char *text, pawl_type *ret_type, pawl_error *err)
{
    static const pawl_type types[] = {PAWL_TYPE_SIGNAL, PAWL_TYPE_COMMAND, PAWL_TYPE_PUSH_CALL,
                                      PAWL_TYPE_RESPONSE};
    cli_suggestion nearest = {text, NULL, 0};

    for (size_t i = 0; i < PAWLI_COUNT(types); i++) {
        if (strcmp(text, pawl_type_name(types[i])) == 0) {
            *ret_type = types[i];
            return PAWL_OK;
        }
        cli_suggest(&nearest, pawl_type_name(types[i]));
    }
    PAWLI_AUTO_FREE char *hint = cli_suggestion_text(&nearest);
    return pawli_fail(err, PAWL_E_INVALID,
                      "--type must be signal, command, push_call or response, not '%s'%s", text,
                      hint);
}

static pawl_status set_message_header(json_t *object, const char *pair, pawl_error *err)
{
    const char *equals = strchr(pair, '=');
    PAWLI_AUTO_FREE char *key = NULL;
    json_t *value;

    if (!equals || equals == pair)
        return pawli_fail(err, PAWL_E_INVALID, "--header must be NAME=VALUE, not '%s'", pair);
    key = cli_copy_bytes(pair, (size_t)(equals - pair));
    value = json_string(equals + 1);
    if (!value || json_object_set_new(object, key, value) != 0)
        return pawli_fail(err, PAWL_E_INVALID, "--header '%s' is not UTF-8 text", key);
    return PAWL_OK;
}

/* --headers as it is; each --header adds to it. *ret_text is NULL when there are none. */
static pawl_status read_message_headers(const cli_compose *own, char **ret_text, pawl_error *err)
{
    json_error_t problem;
    json_t *object;
    pawl_status st = PAWL_OK;

    if (!own->headers && own->header.count == 0)
        return PAWL_OK;
    object =
        own->headers ? json_loads(own->headers, JSON_REJECT_DUPLICATES, &problem) : json_object();
    if (!object)
        return pawli_fail(err, PAWL_E_INVALID, "--headers is not JSON: %s", problem.text);
    if (!json_is_object(object))
        st = pawli_fail(err, PAWL_E_INVALID,
                        "--headers must be a JSON object: '{\"name\": \"value\"}'");
    for (size_t i = 0; st == PAWL_OK && i < own->header.count; i++)
        st = set_message_header(object, own->header.items[i], err);
    if (st == PAWL_OK)
        *ret_text =
            own->header.count > 0 ? json_dumps(object, JSON_COMPACT) : cli_copy(own->headers);
    json_decref(object);
    return st;
}

static pawl_status read_due_time(const cli_compose *own, pawl_message_spec *message,
                                 pawl_error *err)
{
    cli_when when;
    pawl_status st;

    message->delay_ms = own->delay_ms;
    if (!own->at)
        return PAWL_OK;
    if (own->delay_ms > 0)
        return pawli_fail(err, PAWL_E_INVALID, "--at and --delay exclude each other");
    st = cli_when_parse("--at", own->at, &when, err);
    if (st != PAWL_OK)
        return st;
    message->due_at = when.at;
    message->delay_ms = when.span_ms;
    return PAWL_OK;
}

/* When it is due, by the database's clock. */
static int64_t message_due_us(const pawl_message_spec *message, pawl_wall now)
{
    int64_t due = message->due_at.us != PAWL_TIME_UNSET.us ? message->due_at.us
                                                           : now.us + message->delay_ms * 1000;

    return due > now.us ? due : now.us;
}

/* "in 1h" counts by the database's clock, like everything that is stored. A message that expires
 * before it is due would never be handled. */
static pawl_status set_message_expiry(pawl_store *store, const cli_when *when,
                                      pawl_message_spec *message, pawl_error *err)
{
    pawl_wall now;
    pawl_status st = pawl_store_now(store, &now, err);

    if (st != PAWL_OK)
        return st;
    message->expires_at = when->is_relative ? (pawl_wall){now.us + when->span_ms * 1000} : when->at;
    if (message->expires_at.us <= now.us)
        return pawli_fail(err, PAWL_E_INVALID, "--expires is in the past: %s; nothing was sent",
                          cli_when_both(message->expires_at, now, CLI_ROOM));
    if (message->expires_at.us <= message_due_us(message, now))
        return pawli_fail(err, PAWL_E_INVALID,
                          "--expires must be after the time when the message is due; nothing was "
                          "sent");
    return PAWL_OK;
}

/* Without --id it stays zero: the library makes one, and knows that it is new. */
static pawl_status read_message_id(const cli_compose *own, pawl_uuid *ret_id, pawl_error *err)
{
    pawl_error ignored;

    if (!own->id)
        return PAWL_OK;
    if (pawl_uuid_parse(own->id, ret_id, &ignored) != PAWL_OK)
        return pawli_fail(err, PAWL_E_INVALID, "--id must be a UUID, not '%s'", own->id);
    if (pawl_uuid_is_zero(*ret_id))
        return pawli_fail(err, PAWL_E_INVALID, "--id must not be all zeros");
    return PAWL_OK;
}

static pawl_status read_message_times(const cli_compose *own, cli_composed *to, pawl_error *err)
{
    pawl_status st = read_due_time(own, &to->message, err);

    to->has_expiry = own->expires != NULL;
    if (st == PAWL_OK && own->expires)
        st = cli_when_parse("--expires", own->expires, &to->expires, err);
    return st;
}

static pawl_status read_count_policy(const char *text, pawl_count *ret_count, pawl_error *err)
{
    if (strcmp(text, "all") != 0 && strcmp(text, "answered") != 0)
        return pawli_fail(err, PAWL_E_INVALID, "--count is 'answered' or 'all', not '%s'", text);
    *ret_count = strcmp(text, "all") == 0 ? PAWL_COUNT_ALL : PAWL_COUNT_ANSWERED;
    return PAWL_OK;
}

pawl_status cli_compose_read(const char *verb, const cli_compose *own, const cli_words *words,
                             cli_composed *to, pawl_error *err)
{
    pawl_message_spec *message = &to->message;
    pawl_status st;

    *to = (cli_composed){.message = PAWL_MESSAGE_SPEC_INIT};
    if (words->count < 1 || words->count > 2)
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s needs a topic and at most one payload, for example "
                          "pawl %s mail 'hello'%s",
                          verb, verb, words->count > 2 ? " (quote a payload that has spaces)" : "");
    message->topic = words->items[0];
    message->payload = words->count > 1 ? words->items[1] : "";
    message->payload_size = strlen(message->payload);
    to->from_stdin = strcmp(message->payload, "-") == 0 && words->literal_from > 1;
    message->priority = (int)own->priority;
    message->correlation_id = own->correlation;
    message->destination = own->destination;
    message->max_attempts = (int)own->max_attempts;
    message->lease_ms = own->lease_ms;
    message->ordering_key = own->ordering_key;
    message->unique_key = own->unique_key;
    message->tags = (const char *const *)own->tags.items;
    message->tag_count = own->tags.count;
    st = read_message_id(own, &message->id, err);
    if (st == PAWL_OK && own->count)
        st = read_count_policy(own->count, &message->count, err);
    if (st == PAWL_OK && own->type)
        st = read_message_type(own->type, &message->type, err);
    if (st == PAWL_OK)
        st = read_message_times(own, to, err);
    if (st == PAWL_OK)
        st = read_message_headers(own, &to->headers, err);
    message->headers = to->headers;
    return st;
}

pawl_status cli_compose_complete(pawl_store *store, cli_composed *to, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    if (to->from_stdin) {
        st = cli_payload_read_stdin(&to->input, &to->message.payload_size, err);
        to->message.payload = to->input;
    }
    if (st == PAWL_OK && to->has_expiry)
        st = set_message_expiry(store, &to->expires, &to->message, err);
    return st;
}

pawl_status cli_compose_explain(pawl_uuid sent, pawl_status st, pawl_error *err)
{
    char id[PAWL_UUID_TEXT_SIZE];

    if (st != PAWL_E_IN_DOUBT || pawl_uuid_is_zero(sent))
        return st;
    pawl_uuid_format(sent, id);
    return pawli_fail(
        err, st,
        "the database did not confirm whether it stored the message; send it again with "
        "--id %s, which stores it once",
        id);
}

void cli_composed_done(cli_composed *composed)
{
    free(composed->headers);
    free(composed->input);
}
