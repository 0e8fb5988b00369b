/* src/cli/cmd_send.c - pawl send: store a message. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "database.h"
#include "fail.h"
#include "output.h"
#include "payload.h"
#include "suggest.h"
#include "when.h"

typedef struct settings {
    int64_t priority;
    int64_t delay_ms;
    const char *at;
    const char *expires;
    const char *correlation;
    cli_texts header;
    const char *headers;
    const char *id;
    const char *destination;
    const char *type;
    int64_t max_attempts;
    int64_t lease_ms;
} settings;

static pawl_status read_type(const char *text, pawl_type *ret_type, pawl_error *err)
{
    static const pawl_type types[] = {PAWL_TYPE_SIGNAL, PAWL_TYPE_COMMAND, PAWL_TYPE_PUSH_CALL,
                                      PAWL_TYPE_RESPONSE};
    cli_suggestion nearest = {text, NULL, 0};

    for (size_t i = 0; i < CLI_COUNT(types); i++) {
        if (strcmp(text, pawl_type_name(types[i])) == 0) {
            *ret_type = types[i];
            return PAWL_OK;
        }
        cli_suggest(&nearest, pawl_type_name(types[i]));
    }
    return cli_fail(err, PAWL_E_INVALID,
                    "--type must be signal, command, push_call or response, not '%s'%s%s%s", text,
                    nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
                    nearest.best ? "'?" : "");
}

static pawl_status set_header(json_t *object, const char *pair, pawl_error *err)
{
    const char *equals = strchr(pair, '=');
    CLI_AUTO_FREE char *key = NULL;
    json_t *value;

    if (!equals || equals == pair)
        return cli_fail(err, PAWL_E_INVALID, "--header must be NAME=VALUE, not '%s'", pair);
    key = cli_copy_bytes(pair, (size_t)(equals - pair));
    value = json_string(equals + 1);
    if (!value || json_object_set_new(object, key, value) != 0)
        return cli_fail(err, PAWL_E_INVALID, "--header '%s' is not UTF-8 text", key);
    return PAWL_OK;
}

/* --headers as it is; each --header adds to it. *ret_text is NULL when there are none. */
static pawl_status read_headers(const settings *own, char **ret_text, pawl_error *err)
{
    json_error_t problem;
    json_t *object;
    pawl_status st = PAWL_OK;

    if (!own->headers && own->header.count == 0)
        return PAWL_OK;
    object =
        own->headers ? json_loads(own->headers, JSON_REJECT_DUPLICATES, &problem) : json_object();
    if (!object)
        return cli_fail(err, PAWL_E_INVALID, "--headers is not JSON: %s", problem.text);
    if (!json_is_object(object))
        st = cli_fail(err, PAWL_E_INVALID,
                      "--headers must be a JSON object: '{\"name\": \"value\"}'");
    for (size_t i = 0; st == PAWL_OK && i < own->header.count; i++)
        st = set_header(object, own->header.items[i], err);
    if (st == PAWL_OK)
        *ret_text =
            own->header.count > 0 ? json_dumps(object, JSON_COMPACT) : cli_copy(own->headers);
    json_decref(object);
    return st;
}

static pawl_status read_due(const settings *own, pawl_outgoing *message, pawl_error *err)
{
    cli_when when;
    pawl_status st;

    message->delay_ms = own->delay_ms;
    if (!own->at)
        return PAWL_OK;
    if (own->delay_ms > 0)
        return cli_fail(err, PAWL_E_INVALID, "--at and --delay exclude each other");
    st = cli_when_parse("--at", own->at, &when, err);
    if (st != PAWL_OK)
        return st;
    message->due_at = when.at;
    message->delay_ms = when.span_ms;
    return PAWL_OK;
}

/* "in 1h" counts by the database's clock, like everything that is stored. */
static pawl_status set_expiry(pawl_store *store, const cli_when *when, pawl_outgoing *message,
                              pawl_error *err)
{
    pawl_wall now;
    pawl_status st;

    if (!when->is_relative) {
        message->expires_at = when->at;
        return PAWL_OK;
    }
    st = pawl_store_now(store, &now, err);
    if (st == PAWL_OK)
        message->expires_at.us = now.us + when->span_ms * 1000;
    return st;
}

/* The id is made here, so that an answer that was lost can be asked for again. */
static pawl_status read_id(const settings *own, pawl_message_id *ret_id, pawl_error *err)
{
    pawl_error ignored;

    if (!own->id)
        *ret_id = pawl_message_id_new();
    else if (pawl_message_id_parse(own->id, ret_id, &ignored) != PAWL_OK)
        return cli_fail(err, PAWL_E_INVALID, "--id must be a UUID, not '%s'", own->id);
    else if (pawl_message_id_is_zero(*ret_id))
        return cli_fail(err, PAWL_E_INVALID, "--id must not be all zeros");
    return PAWL_OK;
}

static pawl_status enqueue(pawl_store *store, const pawl_outgoing *message,
                           pawl_enqueued *ret_stored, pawl_error *err)
{
    char id[PAWL_UUID_TEXT_SIZE];
    pawl_status st = pawl_outbox_enqueue(store, message, ret_stored, err);

    if (st != PAWL_E_IN_DOUBT)
        return st;
    pawl_message_id_format(message->id, id);
    return cli_fail(err, st,
                    "the database did not answer whether it stored the message; send it again with "
                    "--id %s, which stores it once",
                    id);
}

static void print(const cli_args *args, const pawl_enqueued *stored)
{
    char id[PAWL_UUID_TEXT_SIZE];
    json_t *document;

    pawl_message_id_format(stored->message_id, id);
    if (!args->common.json) {
        printf("%s work id %" PRId64 ", message id %s\n",
               stored->existed ? "Already there:" : "Sent:", stored->work_id.value, id);
        return;
    }
    document = json_object();
    cli_json_number(document, "work_id", stored->work_id.value);
    cli_json_text(document, "message_id", id);
    json_object_set_new(document, "existed", json_boolean(stored->existed));
    cli_json_print(stdout, document);
}

static pawl_status send_with(const cli_args *args, pawl_outgoing *message, pawl_error *err)
{
    const settings *own = args->settings;
    CLI_AUTO(pawl_store) store = NULL;
    CLI_AUTO_FREE char *input = NULL;
    cli_when expires = {0};
    pawl_enqueued stored;
    pawl_status st = PAWL_OK;

    if (own->expires)
        st = cli_when_parse("--expires", own->expires, &expires, err);
    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    if (st == PAWL_OK && strcmp(message->payload, "-") == 0 && args->words.literal_from > 1) {
        st = cli_payload_read_stdin(&input, &message->payload_size, err);
        message->payload = input;
    }
    if (st == PAWL_OK && own->expires)
        st = set_expiry(store, &expires, message, err);
    if (st == PAWL_OK)
        st = enqueue(store, message, &stored, err);
    if (st == PAWL_OK)
        print(args, &stored);
    return st;
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    const settings *own = args->settings;
    pawl_outgoing message = PAWL_OUTGOING_INIT;
    CLI_AUTO_FREE char *headers = NULL;
    pawl_status st;

    if (args->words.count < 1 || args->words.count > 2)
        return cli_fail(err, PAWL_E_INVALID,
                        "send needs a topic and at most one payload, for example "
                        "pawl send mail 'hello'%s",
                        args->words.count > 2 ? " (quote a payload that has spaces)" : "");
    message.topic = args->words.items[0];
    message.payload = args->words.count > 1 ? args->words.items[1] : "";
    message.payload_size = strlen(message.payload);
    message.priority = (int)own->priority;
    message.correlation_id = own->correlation;
    message.destination = own->destination;
    message.max_attempts = (int)own->max_attempts;
    message.lease_ms = own->lease_ms;
    st = read_id(own, &message.id, err);
    if (st == PAWL_OK && own->type)
        st = read_type(own->type, &message.type, err);
    if (st == PAWL_OK)
        st = read_due(own, &message, err);
    if (st == PAWL_OK)
        st = read_headers(own, &headers, err);
    message.headers = headers;
    if (st == PAWL_OK)
        st = send_with(args, &message, err);
    return st;
}

#define FIELD(field) offsetof(settings, field)
static const cli_option options[] = {
    {"priority", "N", "0 to 9, higher first (default: 0)", CLI_NUMBER, 'p', FIELD(priority), 0,
     PAWL_PRIORITY_MAX},
    {"delay", "TIME", "due so long from now: 30s, 5m, 2h, 7d", CLI_SPAN, 0, FIELD(delay_ms), 0,
     CLI_CENTURY_MS},
    {"at", "TIME", "due at 2026-01-01T09:00+01:00, or 'in 5m'", CLI_TEXT, 0, FIELD(at), 0, 0},
    {"expires", "TIME",
     "not after this time, or 'in 1h' (default: never; with a destination 24h after it is due)",
     CLI_TEXT, 0, FIELD(expires), 0, 0},
    {"correlation", "TEXT", "a correlation id", CLI_TEXT, 0, FIELD(correlation), 0, 0},
    {"header", "NAME=VALUE", "a header; may be repeated", CLI_TEXTS, 0, FIELD(header), 0, 0},
    {"headers", "JSON", "all headers as a JSON object; --header adds to it", CLI_TEXT, 0,
     FIELD(headers), 0, 0},
    {"id", "UUID", "the message id: the same id and content is stored once", CLI_TEXT, 0, FIELD(id),
     0, 0},
    {"destination", "NAME", "whom a transport delivers it to (default: a local worker)", CLI_TEXT,
     0, FIELD(destination), 0, 0},
    {"type", "TYPE", "signal, command, push_call or response (default: signal)", CLI_TEXT, 0,
     FIELD(type), 0, 0},
    {"max-attempts", "N", "fail after so many attempts (default: 10; with a destination 6)",
     CLI_NUMBER, 0, FIELD(max_attempts), 1, 1000},
    {"lease", "TIME", "how long a worker gets for it (default: the worker decides)", CLI_SPAN, 0,
     FIELD(lease_ms), 1, 7 * CLI_DAY_MS},
};
static const cli_exit exits[] = {
    {PAWL_E_CONFLICT, "the id exists with another topic or payload, or the payload is too large"},
    {PAWL_E_IN_DOUBT, "stored or not, unknown; send again with the --id in the message"},
};

const cli_verb cli_verb_send = {
    .name = "send",
    .usage = "TOPIC [PAYLOAD | -]",
    .summary = "store a message for a worker, now or later",
    .about = "The payload is the second word, or with '-' whatever is on stdin, byte for byte; "
             "without one it is empty. When the program exits with 0, the message is committed.",
    .examples = "  pawl send mail '{\"to\": \"ann@example.org\"}' --priority 5\n"
                "  pawl send report --at 2026-01-01T09:00+01:00 --header lang=de\n"
                "  pawl send picture - --expires 'in 1h' < picture.png",
    .options = options,
    .option_count = CLI_COUNT(options),
    .settings_size = sizeof(settings),
    .exits = exits,
    .exit_count = CLI_COUNT(exits),
    .run = run,
};
