/* src/cli/config/setting_table.c - the table of settings. What is changed here changes program and
 * manual. */
#include <pawl/net.h>
#include <pawl/worker.h>

#include "scope.h"
#include "setting.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define KIB INT64_C(1024)
#define MIB (1024 * KIB)

/* The member of the section's struct, the key in the file, the kind of value. */
#define ROW(section, member, key_, kind_)                                                          \
    .key = (key_), .kind = CLI_VALUE_##kind_, .offset = offsetof(cli_##section##_settings, member)
#define RANGE(least, most) .min = (least), .max = (most)
/* The library's option that it sets. Its default is the library's, unless there is a fallback. */
#define OPTION(type, member)                                                                       \
    .library = CLI_LIBRARY_##type, .library_offset = offsetof(pawl_##type##_options, member),      \
    .library_size = sizeof(((pawl_##type##_options *)NULL)->member)

static const cli_setting database_rows[] = {
    {ROW(database, url, "url", URL), .value = "URL", .flag = "db",
     .help = "the database: sqlite:app.db, postgresql://user@host/app, host=/run/postgresql "
             "dbname=app"},
    {ROW(database, schema, "schema", TEXT), OPTION(store, schema), .value = "NAME",
     .flag = "schema", .help = "PostgreSQL: the schema pawl lives in; not set: pawl"},
    {ROW(database, prefix, "prefix", TEXT), OPTION(store, table_prefix), .value = "NAME",
     .flag = "prefix", .help = "SQLite: how pawl's tables begin; not set: pawl_"},
    {ROW(database, timeout_ms, "timeout", SPAN), OPTION(store, timeout_ms), RANGE(1, HOUR),
     .flag = "timeout", .help = "the longest a database call may take"},
    {ROW(database, pool_size, "pool_size", NUMBER), OPTION(store, pool_size), RANGE(1, 1000),
     .help = "PostgreSQL: connections at once, and as many again for transactions of handlers"},
    {ROW(database, durability, "durability", CHOICE), OPTION(store, durability),
     .choices = "full|normal",
     .help = "SQLite: full: what was acknowledged survives a loss of power; normal: a crash of the "
             "process"},
    {ROW(database, deploy, "deploy", BOOL), OPTION(store, deploy_schema), .fallback = "on",
     .help = "create pawl's tables, or upgrade them, when starting"},
};

static const cli_setting server_rows[] = {
    {ROW(server, listen, "listen", LIST), .fallback = "127.0.0.1:7295", .value = "ADDRESS:PORT",
     .flag = "listen",
     .help = "where to listen: 127.0.0.1:7295, [::1]:7295; none: on no network at all. Other than "
             "loopback only with token, tls_cert and tls_key"},
    {ROW(server, socket, "socket", TEXT), .value = "PATH", .flag = "socket",
     .help = "a unix socket to listen on as well; who may open it decides who may talk"},
    {ROW(server, service_id, "service_id", TEXT), OPTION(delivery, source), .value = "NAME",
     .flag = "service-id",
     .help = "the name under which this service sends; not set: it receives, and delivers nothing"},
    {ROW(server, token, "token", SECRETS), .flag = "token",
     .help = "what clients of everything but receiving and health must show as a bearer token; "
             "several while it changes"},
    {ROW(server, tls_cert, "tls_cert", TEXT), .value = "PATH", .flag = "tls-cert",
     .help = "the certificate chain, as PEM"},
    {ROW(server, tls_key, "tls_key", TEXT), .value = "PATH", .flag = "tls-key",
     .help = "its private key, as PEM"},
    {ROW(server, max_body, "max_body", SIZE), OPTION(receiver, max_body_bytes),
     RANGE(KIB, 64 * MIB), .help = "the largest request; beyond it the answer is 413"},
    {ROW(server, max_headers, "max_headers", SIZE), OPTION(receiver, max_header_bytes),
     RANGE(4 * KIB, MIB),
     .help = "the most memory for the head of a request; beyond it the answer is 431"},
    {ROW(server, max_held, "max_held", SIZE), OPTION(receiver, max_held_bytes),
     RANGE(MIB, INT64_C(1024) * 1024 * MIB),
     .help = "the most memory for all requests together; beyond it the answer is 429"},
    {ROW(server, timeout_ms, "timeout", SPAN), OPTION(receiver, request_ms), RANGE(100, HOUR),
     .help = "how long a request may take to arrive, however it trickles; then the answer is 408"},
    {ROW(server, connections, "connections", NUMBER), OPTION(receiver, connections),
     RANGE(1, 100000),
     .help = "connections at once; beyond it the one that has been waited for longest is cut"},
    {ROW(server, connections_per_ip, "connections_per_ip", NUMBER),
     OPTION(receiver, connections_per_ip), RANGE(1, 100000),
     .help = "connections at once from one address; beyond it the one that has been waited for "
             "longest is cut"},
    {ROW(server, trusted_proxies, "trusted_proxies", LIST), .fallback = "127.0.0.1,::1",
     .value = "ADDRESS",
     .help = "reverse proxies, which connections_per_ip is not for: addresses, or networks such as "
             "10.0.0.0/8; none: there are none"},
    {ROW(server, threads, "threads", NUMBER), OPTION(receiver, threads), RANGE(1, 64),
     .help = "threads that read requests and write answers; they never wait for a handler"},
    {ROW(server, grace_ms, "grace", SPAN), OPTION(receiver, grace_ms), RANGE(0, HOUR),
     .flag = "grace", .help = "how long running work may go on after SIGTERM"},
};

static const cli_setting log_rows[] = {
    {ROW(log, format, "format", CHOICE), .fallback = "text", .choices = "text|json",
     .flag = "log-format", .help = "how log records look on stderr"},
    {ROW(log, level, "level", CHOICE), .fallback = "info", .choices = "debug|info|warning|error",
     .flag = "log-level", .help = "the least that is logged"},
};

static const cli_setting delivery_rows[] = {
    {ROW(delivery, enabled, "enabled", BOOL), .fallback = "on",
     .help = "send the messages that have a destination"},
    {ROW(delivery, batch, "batch", NUMBER), OPTION(delivery, batch), .fallback = "50",
     RANGE(1, 10000), .help = "the most messages per claim"},
    {ROW(delivery, concurrency, "concurrency", NUMBER), OPTION(delivery, max_in_flight),
     .fallback = "64", RANGE(1, 10000),
     .help = "messages in flight at once, to all services together"},
    {ROW(delivery, lease_ms, "lease", SPAN), OPTION(delivery, lease_ms), .fallback = "30s",
     RANGE(3 * SECOND, DAY),
     .help = "lease of a message while it is sent; renewed during a long send"},
    {ROW(delivery, breaker_failures, "breaker_failures", NUMBER),
     OPTION(delivery, breaker_failures), RANGE(1, 1000),
     .help = "the circuit breaker of a service opens after this many consecutive failures of the "
             "service: nothing is claimed for it, and one message probes it after each pause"},
    {ROW(delivery, breaker_base_ms, "breaker_base", SPAN), OPTION(delivery, breaker_open.base_ms),
     RANGE(1, DAY), .help = "the first pause; it doubles after every failed probe"},
    {ROW(delivery, breaker_max_ms, "breaker_max", SPAN), OPTION(delivery, breaker_open.max_ms),
     RANGE(1, DAY), .help = "the longest pause; pawl wake ends it"},
    {ROW(delivery, retry_after_max_ms, "retry_after_max", SPAN),
     OPTION(delivery, retry_after_max_ms), RANGE(SECOND, 30 * DAY),
     .help = "upper limit for the pause that a service asks for (Retry-After)"},
    {ROW(delivery, responses, "responses", BOOL), OPTION(delivery, responses),
     .help = "enqueue the payload of an acknowledgement for a local handler, as a "
             "message of type response, in the commit that completes the request"},
    {ROW(delivery, response_topic, "response_topic", TEXT), OPTION(delivery, response_topic),
     .value = "TOPIC", .help = "the topic of these responses; default: the request's topic"},
};

static const cli_setting inbox_rows[] = {
    {ROW(inbox, handlers, "handlers", NUMBER), OPTION(receiver, handlers), RANGE(1, 1000),
     .help = "messages that are processed at once"},
    {ROW(inbox, waiting, "waiting", NUMBER), OPTION(receiver, waiting), RANGE(0, 100000),
     .help = "messages that may wait for a handler; further ones get 429"},
    {ROW(inbox, max_attempts, "max_attempts", NUMBER), OPTION(receiver, max_attempts),
     RANGE(1, 1000), .help = "attempts at processing a message; then it is dead"},
    {ROW(inbox, lease_ms, "lease", SPAN), OPTION(receiver, lease_ms), RANGE(SECOND, DAY),
     .help = "forward and command: lease of a message; renewed while the call runs"},
    {ROW(inbox, retention_ms, "retention", SPAN), OPTION(store, inbox_keep_ms),
     RANGE(MINUTE, 3650 * DAY),
     .help = "how long the record of a processed message is kept; at least twice replay_window"},
    {ROW(inbox, retry_window_ms, "retry_window", SPAN), OPTION(store, inbox_retry_window_ms),
     RANGE(0, 3650 * DAY),
     .help = "how long senders retry; retention must be at least twice as long"},
    {ROW(inbox, cleanup_ms, "cleanup", SPAN),
     OPTION(worker, maintenance_interval_ms[PAWL_MAINTENANCE_INBOX]), RANGE(SECOND, DAY),
     .help = "how often records past their retention are removed"},
    {ROW(inbox, replay_window_ms, "replay_window", SPAN), OPTION(receiver, replay_window_ms),
     RANGE(SECOND, DAY), .help = "how far the time in a signature may be from now"},
};

static const cli_setting worker_rows[] = {
    {ROW(worker, retention_ms, "retention", SPAN), OPTION(worker, retention_ms),
     RANGE(MINUTE, 3650 * DAY), .help = "how long messages that are done or cancelled are kept"},
    {ROW(worker, reap_ms, "reap", SPAN),
     OPTION(worker, maintenance_interval_ms[PAWL_MAINTENANCE_REAP]), RANGE(100, HOUR),
     .help = "how often expired leases are reaped"},
    {ROW(worker, expire_ms, "expire", SPAN),
     OPTION(worker, maintenance_interval_ms[PAWL_MAINTENANCE_EXPIRE]), RANGE(100, HOUR),
     .help = "how often messages past their time to live are expired"},
    {ROW(worker, retain_ms, "cleanup", SPAN),
     OPTION(worker, maintenance_interval_ms[PAWL_MAINTENANCE_PRUNE]), RANGE(SECOND, DAY),
     .help = "how often records past their retention are removed"},
};

static const cli_setting service_rows[] = {
    {ROW(service, url, "url", URL), OPTION(service, url), .value = "URL",
     .help = "where it receives: http://host:port, https://host:port, unix:///path, pipe://name; "
             "not set: nothing is sent to it"},
    {ROW(service, secret, "secret", SECRETS),
     .help = "what it and we sign with: the first signs, all are accepted. Not set: messages to it "
             "are not signed, and none from it is accepted"},
    {ROW(service, scheme, "scheme", NUMBER), OPTION(service, scheme), RANGE(1, 2),
     .help = "the signature; 1 is sent, and accepted beside 2, for a service that knows no other: "
             "there is no time in it, so what was recorded can be played again"},
    {ROW(service, connect_timeout_ms, "connect_timeout", SPAN), OPTION(service, connect_timeout_ms),
     RANGE(1, 10 * MINUTE), .help = "how long connecting to it may take"},
    {ROW(service, timeout_ms, "timeout", SPAN), OPTION(service, timeout_ms), RANGE(1, HOUR),
     .help = "how long one sending may take, to the last byte of the answer"},
    {ROW(service, concurrency, "concurrency", NUMBER), OPTION(service, concurrency),
     RANGE(1, 10000), .help = "messages in flight to it at once"},
    {ROW(service, retry_base_ms, "retry_base", SPAN), OPTION(service, backoff.base_ms),
     RANGE(1, DAY), .help = "the first pause after a failed sending; it doubles every time"},
    {ROW(service, retry_max_ms, "retry_max", SPAN), .fallback = "0", RANGE(0, 30 * DAY),
     .help = "the longest pause; 0: 1h, with count = all 5m"},
    {ROW(service, retry_jitter_ms, "retry_jitter", SPAN), .fallback = "0", RANGE(0, DAY),
     .help = "up to this much is added at random; 0: a tenth of the pause, with count = all 500ms"},
    {ROW(service, max_attempts, "max_attempts", NUMBER), OPTION(service, max_attempts),
     RANGE(0, 1000),
     .help = "never more attempts than this; 0: as the message says, which is until it expires, "
             "or 6 with count = all"},
    {ROW(service, count, "count", CHOICE), .fallback = "answered", .choices = "answered|all",
     .help = "which sends are attempts: those that the service answered and that were not "
             "unavailability (docs/serve.md, Retries), or all"},
    {ROW(service, allow_private, "allow_private", BOOL), OPTION(service, allow_private),
     .help = "it may be at a private, loopback or link-local address"},
    {ROW(service, max_response, "max_response", SIZE), OPTION(service, response_max_bytes),
     RANGE(KIB, 64 * MIB), .help = "its longest answer"},
    {ROW(service, ca_file, "ca_file", TEXT), OPTION(service, ca_file), .value = "PATH",
     .help = "the certificates to trust, as PEM; not set: the system's"},
    {ROW(service, proxy, "proxy", URL), OPTION(service, proxy), .value = "URL",
     .help = "http://host:port; not set: none, whatever the environment says"},
};

static const cli_setting receive_rows[] = {
    {ROW(receive, topic, "topic", TEXT), .value = "TOPIC",
     .help = "the topic, if it does not fit into the heading"},
    {ROW(receive, forward, "forward", URL), .value = "URL",
     .help = "post the payload to an application: http://127.0.0.1:3000/path or "
             "unix:///path/to/socket:/path; a 2xx means done, its body is the response"},
    {ROW(receive, command, "command", TEXT), .value = "COMMAND",
     .help = "run it by /bin/sh, the payload on stdin; its stdout (less a line end at its end) is "
             "the response, its exit codes are those of pawl work"},
    {ROW(receive, enqueue, "enqueue", TEXT), .value = "TOPIC",
     .help = "put the message into the outbox under this topic, in the transaction that remembers "
             "it; *: under its own"},
    {ROW(receive, destination, "destination", TEXT), .value = "NAME",
     .help = "with enqueue: the service to pass it on to; not set: a local handler"},
    {ROW(receive, timeout_ms, "timeout", SPAN), OPTION(receive, timeout_ms), .fallback = "30s",
     RANGE(1, DAY), .help = "with forward and command: how long it may take"},
    {ROW(receive, max_attempts, "max_attempts", NUMBER), OPTION(receive, max_attempts),
     RANGE(0, 1000), .help = "attempts at processing; 0: as in [inbox]"},
    {ROW(receive, concurrency, "concurrency", NUMBER), OPTION(receive, concurrency), RANGE(0, 1000),
     .help = "calls at once; 0: no limit but that of [inbox]"},
};

const void *const cli_library_defaults[CLI_LIBRARY_COUNT] = {
    [CLI_LIBRARY_store] = &(const pawl_store_options)PAWL_STORE_OPTIONS_INIT,
    [CLI_LIBRARY_worker] = &(const pawl_worker_options)PAWL_WORKER_OPTIONS_INIT,
    [CLI_LIBRARY_delivery] = &(const pawl_delivery_options)PAWL_DELIVERY_OPTIONS_INIT,
    [CLI_LIBRARY_service] = &(const pawl_service_options)PAWL_SERVICE_OPTIONS_INIT,
    [CLI_LIBRARY_receiver] = &(const pawl_receiver_options)PAWL_RECEIVER_OPTIONS_INIT,
    [CLI_LIBRARY_receive] = &(const pawl_receive_options)PAWL_RECEIVE_OPTIONS_INIT,
};

#define SECTION(section, settings_)                                                                \
    .settings = (settings_), .count = PAWLI_COUNT(settings_),                                      \
    .size = sizeof(cli_##section##_settings)

const cli_section cli_sections[CLI_SECTION_COUNT] = {
    [CLI_SECTION_DATABASE] = {"database", "The database that pawl keeps its tables in.", NULL,
                              SECTION(database, database_rows)},
    [CLI_SECTION_SERVER] = {"server", "Where the daemon listens, and what a client may do.", NULL,
                            SECTION(server, server_rows)},
    [CLI_SECTION_LOG] = {"log", "Log records, on stderr. Never a payload, never a secret.", NULL,
                         SECTION(log, log_rows)},
    [CLI_SECTION_DELIVERY] = {"delivery", "Sending the messages that have a destination.", NULL,
                              SECTION(delivery, delivery_rows)},
    [CLI_SECTION_INBOX] = {"inbox", "Receiving: what is processed, and remembered.", NULL,
                           SECTION(inbox, inbox_rows)},
    [CLI_SECTION_WORKER] = {"worker", "Maintenance.", NULL, SECTION(worker, worker_rows)},
    [CLI_SECTION_SERVICE] =
        {"service",
         "Another service, by the name it sends under and is sent to. [service *] "
         "says how to speak with destinations that are URLs.",
         "NAME", SECTION(service, service_rows)},
    [CLI_SECTION_RECEIVE] = {"receive",
                             "What is done with messages of a topic (their endpoint); *: of every "
                             "topic without a section of its own. Exactly one of forward, command "
                             "and enqueue. With enqueue the effect happens once; an application or "
                             "a command is called at least once, never twice at the same time, "
                             "always with the same key.",
                             "TOPIC", SECTION(receive, receive_rows)},
};
