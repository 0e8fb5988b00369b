/* src/cli/commands/compose.h - composing a message from the words and options of a command line. */
#ifndef CLI_COMPOSE_H
#define CLI_COMPOSE_H

#include <stddef.h>

#include <pawl/error.h>
#include <pawl/message.h>
#include <pawl/store.h>

#include "args.h"
#include "bounds.h"
#include "alloc.h"
#include "units.h"

typedef struct cli_compose {
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
    const char *count;
    int64_t lease_ms;
    const char *ordering_key;
    const char *unique_key;
    cli_texts tags;
} cli_compose;

/*
 * The rows for a command's table of options, if a cli_compose is at `base` in its settings; `o` are
 * the subcommands that take them, `s` those that take --correlation and --destination.
 */
/* clang-format off */
#define CLI_COMPOSE_AT(base, field) (base) + offsetof(cli_compose, field)
#define CLI_COMPOSE_OPTIONS(base, o, s) \
    {"priority", "N", "0 to 9, higher first (default: 0)", CLI_NUMBER, 'p', \
     CLI_COMPOSE_AT(base, priority), 0, PAWL_PRIORITY_MAX, o}, \
    {"delay", "TIME", "due after this time: 30s, 5m, 2h, 7d", CLI_SPAN, 0, \
     CLI_COMPOSE_AT(base, delay_ms), 0, CLI_CENTURY_MS, o}, \
    {"at", "TIME", "due at 2026-01-01T09:00+01:00, or 'in 5m'", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, at), 0, 0, o}, \
    {"expires", "TIME", "not after this time, or 'in 1h' (default: never; with a destination 24h" \
     " after it is due)", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, expires), 0, 0, o}, \
    {"correlation", "TEXT", "a correlation id", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, correlation), 0, 0, s}, \
    {"header", "NAME=VALUE", "a header; may be repeated", CLI_TEXTS, 0, \
     CLI_COMPOSE_AT(base, header), 0, 0, o}, \
    {"headers", "JSON", "all headers as a JSON object; --header adds to it", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, headers), 0, 0, o}, \
    {"id", "UUID", "the message id; sending the same id and content again stores nothing", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, id), 0, 0, o}, \
    {"destination", "NAME", "the service to deliver it to (default: a local worker)", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, destination), 0, 0, s}, \
    {"type", "TYPE", "signal, command, push_call or response (default: signal)", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, type), 0, 0, o}, \
    {"max-attempts", "N", "fail after this many attempts (default: 10; with a destination none)", CLI_NUMBER, 0, \
     CLI_COMPOSE_AT(base, max_attempts), 1, PAWLI_ATTEMPTS_MAX, o}, \
    {"count", "WHICH", "with a destination: which sends count as attempts, answered or all (default: the service's setting)", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, count), 0, 0, o}, \
    {"lease", "TIME", "duration of its lease (default: the worker's setting)", CLI_SPAN, 0, \
     CLI_COMPOSE_AT(base, lease_ms), 1, PAWLI_LEASE_MAX, o}, \
    {"ordering-key", "TEXT", "an ordering key; stored and shown, without effect in this release", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, ordering_key), 0, 0, o}, \
    {"unique-key", "TEXT", "a unique key; stored and shown, not enforced in this release", CLI_TEXT, 0, \
     CLI_COMPOSE_AT(base, unique_key), 0, 0, o}, \
    {"tag", "TEXT", "a tag; may be repeated", CLI_TEXTS, 0, \
     CLI_COMPOSE_AT(base, tags), 0, 0, o}
/* clang-format on */

/* The composed message; the strings belong to the command line or to this struct. */
typedef struct cli_composed {
    pawl_message_spec message;
    char *headers;
    char *input;
    cli_when expires;
    bool has_expiry;
    bool from_stdin;
} cli_composed;

/*
 * Parses TOPIC [PAYLOAD | -] and the options; `verb` is for messages. Call cli_composed_done() in
 * any case.
 */
pawl_status cli_compose_read(const char *verb, const cli_compose *own, const cli_words *words,
                             cli_composed *to, pawl_error *err);
/* Completes what needs stdin or the database's clock. */
pawl_status cli_compose_complete(pawl_store *store, cli_composed *to, pawl_error *err);
/*
 * Returns the status of sending the message with this id; when it is in doubt, the error message
 * says how to send it again.
 */
pawl_status cli_compose_explain(pawl_uuid sent, pawl_status st, pawl_error *err);
void cli_composed_done(cli_composed *composed);
/* `CLI_AUTO_COMPOSED composed = {0};` */
#define CLI_AUTO_COMPOSED __attribute__((cleanup(cli_composed_done))) cli_composed

/* Reads all of stdin, bytes unchanged; *ret_bytes is the caller's (free()). */
pawl_status cli_payload_read_stdin(char **ret_bytes, size_t *ret_size, pawl_error *err);

#endif
