/* src/cli/config/setting_table.c - the table of settings. The program and the manual are made from
 * it. */
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
     .help = "the database: sqlite:app.db, postgresql://user@host/app or host=/run/postgresql "
             "dbname=app"},
    {ROW(database, schema, "schema", TEXT), OPTION(store, schema), .value = "NAME",
     .flag = "schema",
     .help = "PostgreSQL: the schema of pawl's tables and functions; default: pawl"},
    {ROW(database, prefix, "prefix", TEXT), OPTION(store, table_prefix), .value = "NAME",
     .flag = "prefix", .help = "SQLite: the prefix of pawl's tables; default: pawl_"},
    {ROW(database, timeout_ms, "timeout", SPAN), OPTION(store, timeout_ms), RANGE(1, HOUR),
     .flag = "timeout", .help = "timeout of a database call"},
    {ROW(database, pool_size, "pool_size", NUMBER), OPTION(store, pool_size), RANGE(1, 1000),
     .help = "PostgreSQL: maximum number of connections, and as many again for transactions of "
             "handlers"},
    {ROW(database, durability, "durability", CHOICE), OPTION(store, durability),
     .choices = "full|normal",
     .help = "SQLite: with full, commits survive a power loss; with normal, a process crash"},
    {ROW(database, deploy, "deploy", BOOL), OPTION(store, deploy_schema), .fallback = "on",
     .help = "create or upgrade pawl's tables at startup"},
};

static const cli_setting server_rows[] = {
    {ROW(server, listen, "listen", LIST), .fallback = "127.0.0.1:7295", .value = "ADDRESS:PORT",
     .flag = "listen",
     .help = "the addresses to listen on: 127.0.0.1:7295, [::1]:7295; none: no TCP listener. An "
             "address other than loopback requires token, tls_cert and tls_key"},
    {ROW(server, socket, "socket", TEXT), .value = "PATH", .flag = "socket",
     .help = "a unix socket to listen on as well; its file mode controls access"},
    {ROW(server, service_id, "service_id", TEXT), OPTION(delivery, source), .value = "NAME",
     .flag = "service-id",
     .help = "the name under which this service sends; not set: it receives but does not deliver"},
    {ROW(server, token, "token", SECRETS), .flag = "token",
     .help = "the bearer token that clients need for all requests except receiving and health; "
             "list two during a rotation"},
    {ROW(server, tls_cert, "tls_cert", TEXT), .value = "PATH", .flag = "tls-cert",
     .help = "the TLS certificate chain (PEM)"},
    {ROW(server, tls_key, "tls_key", TEXT), .value = "PATH", .flag = "tls-key",
     .help = "the private key of the certificate (PEM)"},
    {ROW(server, max_body, "max_body", SIZE), OPTION(receiver, max_body_bytes),
     RANGE(KIB, 64 * MIB), .help = "maximum size of a request body; larger ones get 413"},
    {ROW(server, max_headers, "max_headers", SIZE), OPTION(receiver, max_header_bytes),
     RANGE(4 * KIB, MIB),
     .help = "maximum memory for the headers of a request; larger ones get 431"},
    {ROW(server, max_buffered, "max_buffered", SIZE), OPTION(receiver, max_buffered_bytes),
     RANGE(MIB, INT64_C(1024) * 1024 * MIB),
     .help = "maximum memory for the bodies of all requests together; beyond it requests get 429"},
    {ROW(server, timeout_ms, "timeout", SPAN), OPTION(receiver, request_ms), RANGE(100, HOUR),
     .help = "maximum time for a request to arrive completely; then it gets 408"},
    {ROW(server, connections, "connections", NUMBER), OPTION(receiver, connections),
     RANGE(1, 100000),
     .help =
         "maximum number of connections; beyond it the one that has been idle longest is closed"},
    {ROW(server, connections_per_ip, "connections_per_ip", NUMBER),
     OPTION(receiver, connections_per_ip), RANGE(1, 100000),
     .help = "maximum number of connections from one address; beyond it the one that has been idle "
             "longest is closed"},
    {ROW(server, trusted_proxies, "trusted_proxies", LIST), .fallback = "127.0.0.1,::1",
     .value = "ADDRESS",
     .help = "reverse proxies, which are exempt from connections_per_ip: addresses, or networks "
             "such as 10.0.0.0/8; or none"},
    {ROW(server, threads, "threads", NUMBER), OPTION(receiver, threads), RANGE(1, 64),
     .help = "threads that read requests and write responses; they never wait for a handler"},
    {ROW(server, grace_ms, "grace", SPAN), OPTION(receiver, grace_ms), RANGE(0, HOUR),
     .flag = "grace", .help = "grace period: how long work in flight may continue after SIGTERM"},
};

static const cli_setting log_rows[] = {
    {ROW(log, format, "format", CHOICE), .fallback = "text", .choices = "text|json",
     .flag = "log-format", .help = "format of the log records on stderr"},
    {ROW(log, level, "level", CHOICE), .fallback = "info", .choices = "debug|info|warning|error",
     .flag = "log-level", .help = "minimum log level"},
};

static const cli_setting delivery_rows[] = {
    {ROW(delivery, enabled, "enabled", BOOL), .fallback = "on",
     .help = "send the messages that have a destination"},
    {ROW(delivery, batch, "batch", NUMBER), OPTION(delivery, batch), .fallback = "50",
     RANGE(1, 10000), .help = "maximum number of messages per claim"},
    {ROW(delivery, concurrency, "concurrency", NUMBER), OPTION(delivery, max_in_flight),
     .fallback = "64", RANGE(1, 10000),
     .help = "maximum number of messages in flight, to all services together"},
    {ROW(delivery, lease_ms, "lease", SPAN), OPTION(delivery, lease_ms), .fallback = "30s",
     RANGE(3 * SECOND, DAY),
     .help = "the lease of a message that is being sent; it is renewed during a long send"},
    {ROW(delivery, breaker_failures, "breaker_failures", NUMBER),
     OPTION(delivery, breaker_failures), RANGE(1, 1000),
     .help = "the circuit breaker of a service opens after this many consecutive failures of the "
             "service: nothing is claimed for it, and one message probes it after each pause"},
    {ROW(delivery, breaker_base_ms, "breaker_base", SPAN), OPTION(delivery, breaker_open.base_ms),
     RANGE(1, DAY),
     .help = "the first pause of an open circuit breaker; it doubles after each failed probe"},
    {ROW(delivery, breaker_max_ms, "breaker_max", SPAN), OPTION(delivery, breaker_open.max_ms),
     RANGE(1, DAY), .help = "the longest pause of an open circuit breaker; pawl wake ends it"},
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
     .help = "maximum number of messages that are processed at the same time"},
    {ROW(inbox, waiting, "waiting", NUMBER), OPTION(receiver, waiting), RANGE(0, 100000),
     .help = "maximum number of messages that wait for a handler; further ones get 429"},
    {ROW(inbox, max_attempts, "max_attempts", NUMBER), OPTION(receiver, max_attempts),
     RANGE(1, 1000),
     .help = "maximum number of attempts to process a message; after them it is dead"},
    {ROW(inbox, lease_ms, "lease", SPAN), OPTION(receiver, lease_ms), RANGE(SECOND, DAY),
     .help = "with forward and command: the lease of a message; it is renewed while the call runs"},
    {ROW(inbox, retention_ms, "retention", SPAN), OPTION(store, inbox_keep_ms),
     RANGE(MINUTE, 3650 * DAY),
     .help = "how long the record of a processed message is kept; at least twice replay_window"},
    {ROW(inbox, retry_window_ms, "retry_window", SPAN), OPTION(store, inbox_retry_window_ms),
     RANGE(0, 3650 * DAY),
     .help = "how long senders retry; retention must be at least twice as long"},
    {ROW(inbox, cleanup_ms, "cleanup", SPAN),
     OPTION(worker, maintenance_interval_ms[PAWL_MAINTENANCE_INBOX]), RANGE(SECOND, DAY),
     .help = "how often records past their retention are deleted"},
    {ROW(inbox, replay_window_ms, "replay_window", SPAN), OPTION(receiver, replay_window_ms),
     RANGE(SECOND, DAY),
     .help = "maximum difference between the time in a signature and the clock"},
};

static const cli_setting worker_rows[] = {
    {ROW(worker, retention_ms, "retention", SPAN), OPTION(worker, retention_ms),
     RANGE(MINUTE, 3650 * DAY), .help = "how long done and cancelled messages are kept"},
    {ROW(worker, reap_ms, "reap", SPAN),
     OPTION(worker, maintenance_interval_ms[PAWL_MAINTENANCE_REAP]), RANGE(100, HOUR),
     .help = "how often expired leases are reaped"},
    {ROW(worker, expire_ms, "expire", SPAN),
     OPTION(worker, maintenance_interval_ms[PAWL_MAINTENANCE_EXPIRE]), RANGE(100, HOUR),
     .help = "how often messages past their time to live are marked expired"},
    {ROW(worker, retain_ms, "cleanup", SPAN),
     OPTION(worker, maintenance_interval_ms[PAWL_MAINTENANCE_PRUNE]), RANGE(SECOND, DAY),
     .help = "how often records past their retention are removed"},
};

static const cli_setting service_rows[] = {
    {ROW(service, url, "url", URL), OPTION(service, url), .value = "URL",
     .help = "the URL at which it receives: http://host:port, https://host:port, unix:///path or "
             "pipe://name; not set: nothing is sent to it"},
    {ROW(service, secret, "secret", SECRETS),
     .help = "the shared secret for signatures: the first signs, all are accepted. Not set: "
             "messages to it are not signed, and messages from it are rejected"},
    {ROW(service, scheme, "scheme", NUMBER), OPTION(service, scheme), RANGE(1, 2),
     .help = "the signature scheme. With 1, scheme 1 is sent and both are accepted, for services "
             "that support only scheme 1: it has no timestamp, so it does not prevent replays"},
    {ROW(service, connect_timeout_ms, "connect_timeout", SPAN), OPTION(service, connect_timeout_ms),
     RANGE(1, 10 * MINUTE), .help = "timeout for connecting to it"},
    {ROW(service, timeout_ms, "timeout", SPAN), OPTION(service, timeout_ms), RANGE(1, HOUR),
     .help = "timeout of a send, up to the last byte of the response"},
    {ROW(service, concurrency, "concurrency", NUMBER), OPTION(service, concurrency),
     RANGE(1, 10000), .help = "maximum number of messages in flight to it"},
    {ROW(service, retry_base_ms, "retry_base", SPAN), OPTION(service, backoff.base_ms),
     RANGE(1, DAY), .help = "backoff after the first failed send; it doubles each time"},
    {ROW(service, retry_max_ms, "retry_max", SPAN), .fallback = "0", RANGE(0, 30 * DAY),
     .help = "the longest backoff; 0: 1h, or 5m with count = all"},
    {ROW(service, retry_jitter_ms, "retry_jitter", SPAN), .fallback = "0", RANGE(0, DAY),
     .help = "random addition to the backoff, up to this much; 0: a tenth of the backoff, or 500ms "
             "with count = all"},
    {ROW(service, max_attempts, "max_attempts", NUMBER), OPTION(service, max_attempts),
     RANGE(0, 1000),
     .help = "limit for the number of attempts of every message; 0: the message's own limit, by "
             "default none, or 6 with count = all"},
    {ROW(service, count, "count", CHOICE), .fallback = "answered", .choices = "answered|all",
     .help = "which sends count as attempts: answered (see Retries in docs/serve.md) or all"},
    {ROW(service, allow_private, "allow_private", BOOL), OPTION(service, allow_private),
     .help = "allow a private, loopback or link-local address"},
    {ROW(service, max_response, "max_response", SIZE), OPTION(service, response_max_bytes),
     RANGE(KIB, 64 * MIB), .help = "maximum size of its response"},
    {ROW(service, ca_file, "ca_file", TEXT), OPTION(service, ca_file), .value = "PATH",
     .help = "the certificates to trust (PEM); not set: those of the system"},
    {ROW(service, proxy, "proxy", URL), OPTION(service, proxy), .value = "URL",
     .help = "an HTTP proxy: http://host:port; not set: none, even if the environment sets one"},
};

static const cli_setting receive_rows[] = {
    {ROW(receive, topic, "topic", TEXT), .value = "TOPIC",
     .help = "the topic, if it cannot be written in the section heading"},
    {ROW(receive, forward, "forward", URL), .value = "URL",
     .help = "POST the payload to an application: http://127.0.0.1:3000/path or "
             "unix:///path/to/socket:/path; 2xx means done, and the body is the response"},
    {ROW(receive, command, "command", TEXT), .value = "COMMAND",
     .help = "run a command with /bin/sh, with the payload on stdin; its stdout (without a "
             "trailing newline) is the response; its exit codes mean the same as for pawl work"},
    {ROW(receive, enqueue, "enqueue", TEXT), .value = "TOPIC",
     .help = "enqueue the message under this topic, in the transaction of its inbox record; *: "
             "under its own topic"},
    {ROW(receive, destination, "destination", TEXT), .value = "NAME",
     .help = "with enqueue: the service to forward it to; not set: a local handler"},
    {ROW(receive, timeout_ms, "timeout", SPAN), OPTION(receive, timeout_ms), .fallback = "30s",
     RANGE(1, DAY), .help = "with forward and command: timeout of a call"},
    {ROW(receive, max_attempts, "max_attempts", NUMBER), OPTION(receive, max_attempts),
     RANGE(0, 1000), .help = "maximum number of attempts; 0: the limit in [inbox]"},
    {ROW(receive, concurrency, "concurrency", NUMBER), OPTION(receive, concurrency), RANGE(0, 1000),
     .help = "maximum number of concurrent calls; 0: only the limit in [inbox] applies"},
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
    [CLI_SECTION_DATABASE] = {"database",
                              "The database with pawl's tables. Every verb reads this section.",
                              NULL, SECTION(database, database_rows)},
    [CLI_SECTION_SERVER] = {"server", "Listeners, and limits for clients.", NULL,
                            SECTION(server, server_rows)},
    [CLI_SECTION_LOG] = {"log", "Log records on stderr. They never contain a payload or a secret.",
                         NULL, SECTION(log, log_rows)},
    [CLI_SECTION_DELIVERY] = {"delivery", "Sending messages that have a destination.", NULL,
                              SECTION(delivery, delivery_rows)},
    [CLI_SECTION_INBOX] = {"inbox", "Processing received messages, and their records.", NULL,
                           SECTION(inbox, inbox_rows)},
    [CLI_SECTION_WORKER] = {"worker", "Maintenance of the outbox.", NULL,
                            SECTION(worker, worker_rows)},
    [CLI_SECTION_SERVICE] =
        {"service",
         "A service that messages are sent to or received from, by its name. [service *] "
         "applies to destinations that are URLs.",
         "NAME", SECTION(service, service_rows)},
    [CLI_SECTION_RECEIVE] =
        {"receive",
         "The handler of received messages with this topic; *: of every topic without "
         "its own section. Needs exactly one of forward, command and enqueue. With "
         "enqueue the effect happens exactly once. An application or a command is "
         "called at least once, never twice at the same time, and always with the "
         "same idempotency key.",
         "TOPIC", SECTION(receive, receive_rows)},
};
