/* src/cli/config/config_check.c - what no setting alone can show to be wrong. */
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <pawl/receiver.h>
#include <pawl/services.h>

#include "config.h"

#define SOCKET_PATH_MAX ((int)sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

static const cli_part *unnamed_part(const cli_config *config, cli_section_id id)
{
    return cli_config_next(config, id, NULL);
}

static char *key_location(const cli_config *config, const cli_part *part, const char *key)
{
    for (size_t i = 0; i < part->section->count; i++)
        if (strcmp(part->section->settings[i].key, key) == 0)
            return cli_config_where(config, part, &part->section->settings[i]);
    return cli_copy(key);
}

/* A problem that begins with where `key` was set. */
#define PROBLEM(config, part, key, ...)                                                            \
    do {                                                                                           \
        PAWLI_AUTO_FREE char *place_ = key_location((config), (part), (key));                      \
        PAWLI_AUTO_FREE char *what_ = cli_print(__VA_ARGS__);                                      \
        cli_config_problem((config), "%s %s", place_, what_);                                      \
    } while (0)

static void check_database(cli_config *config)
{
    const cli_database_settings *database = cli_config_values(config, CLI_SECTION_DATABASE);

    if (!database->url)
        cli_config_problem(config, "no database given; set url in [database], PAWL_DATABASE_URL "
                                   "or --db, for example sqlite:app.db");
}

static void check_secrets(cli_config *config, const cli_part *part, const char *key,
                          const cli_texts *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        if (pawl_secret_check(sources->items[i], &err) != PAWL_OK)
            PROBLEM(config, part, key, "is invalid: %s", err.message);
    }
}

static void check_readable(cli_config *config, const cli_part *part, const char *key,
                           const char *path)
{
    if (path && access(path, R_OK) != 0)
        PROBLEM(config, part, key,
                "'%s' cannot be read: check that the file exists and its permissions", path);
}

static void check_listen(cli_config *config, const cli_part *part)
{
    const cli_server_settings *server = part->values;
    bool safe = server->token.count > 0 && server->tls_cert && server->tls_key;

    for (size_t i = 0; i < server->listen.count; i++) {
        bool loopback = false;
        pawl_error err = PAWL_ERROR_INIT;
        if (server->listen.count == 1 && strcmp(server->listen.items[i], "none") == 0)
            continue;
        if (pawl_address_check(server->listen.items[i], &loopback, &err) != PAWL_OK)
            PROBLEM(config, part, "listen", "is invalid: %s", err.message);
        else if (!loopback && !safe)
            PROBLEM(config, part, "listen",
                    "needs token, tls_cert and tls_key in [server]: '%s' is not a loopback "
                    "address",
                    server->listen.items[i]);
    }
}

static void check_proxies(cli_config *config, const cli_part *part)
{
    const cli_server_settings *server = part->values;
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < server->trusted_proxies.count; i++)
        if (!(server->trusted_proxies.count == 1 &&
              strcmp(server->trusted_proxies.items[i], "none") == 0) &&
            pawl_network_check(server->trusted_proxies.items[i], &err) != PAWL_OK)
            PROBLEM(config, part, "trusted_proxies", "is invalid: %s", err.message);
}

static void check_server(cli_config *config)
{
    const cli_part *part = unnamed_part(config, CLI_SECTION_SERVER);
    const cli_server_settings *server = part->values;

    check_listen(config, part);
    check_proxies(config, part);
    if (!server->tls_cert != !server->tls_key)
        PROBLEM(config, part, server->tls_cert ? "tls_cert" : "tls_key", "requires %s, too",
                server->tls_cert ? "tls_key" : "tls_cert");
    check_readable(config, part, "tls_cert", server->tls_cert);
    check_readable(config, part, "tls_key", server->tls_key);
    check_secrets(config, part, "token", &server->token);
    if (server->socket && strlen(server->socket) > SOCKET_PATH_MAX)
        PROBLEM(config, part, "socket",
                "has %zu bytes; the path of a unix socket may have at most %d",
                strlen(server->socket), SOCKET_PATH_MAX);
}

static void check_inbox(cli_config *config)
{
    const cli_part *part = unnamed_part(config, CLI_SECTION_INBOX);
    const cli_inbox_settings *inbox = part->values;

    if (inbox->retention_ms < 2 * inbox->retry_window_ms)
        PROBLEM(config, part, "retention",
                "is too short: it must be at least twice the retry_window, or a late retry "
                "would be processed as a new message");
    if (inbox->retention_ms < 2 * inbox->replay_window_ms)
        PROBLEM(config, part, "retention",
                "is too short: it must be at least twice the replay_window, or a replayed message "
                "would be processed again while its signature is still valid");
}

static void check_delivery(cli_config *config)
{
    const cli_part *part = unnamed_part(config, CLI_SECTION_DELIVERY);
    const cli_delivery_settings *delivery = part->values;

    if (delivery->breaker_max_ms < delivery->breaker_base_ms)
        PROBLEM(config, part, "breaker_max", "must not be less than breaker_base");
    if (delivery->response_topic && !delivery->responses)
        PROBLEM(config, part, "response_topic", "requires responses = on");
}

static bool has_scheme(const char *url, const char *const *schemes)
{
    for (; *schemes; schemes++)
        if (strncmp(url, *schemes, strlen(*schemes)) == 0 && url[strlen(*schemes)] != '\0')
            return true;
    return false;
}

static void check_service(cli_config *config, const cli_part *part)
{
    static const char *const schemes[] = {"http://", "https://", "unix://", "pipe://", NULL};
    const cli_service_settings *service = part->values;
    bool for_urls = strcmp(part->name, "*") == 0;

    if (service->url && for_urls)
        PROBLEM(config, part, "url",
                "must not be set: [service *] is for destinations that are "
                "URLs");
    else if (service->url && strncmp(service->url, "inproc://", 9) == 0)
        PROBLEM(
            config, part, "url",
            "is inproc://, which pawl serve does not support: use http://, https://, unix:// or "
            "pipe://");
    else if (service->url && !has_scheme(service->url, schemes))
        PROBLEM(config, part, "url", "must begin with http://, https://, unix:// or pipe://");
    else if (service->url && !service->allow_private && !service->proxy &&
             pawl_url_is_private(service->url))
        PROBLEM(config, part, "url",
                "is a loopback or private address: set allow_private = on to send "
                "there");
    if (service->secret.count == 0)
        cli_config_warn(config,
                        "%s:%d: [service %s] has no secret: messages to it are not signed, and "
                        "messages from it are rejected; set secret = file:PATH",
                        config->path ? config->path : "", part->line, part->name);
    if (service->retry_max_ms > 0 && service->retry_max_ms < service->retry_base_ms)
        PROBLEM(config, part, "retry_max", "must not be less than retry_base");
    if (service->connect_timeout_ms > service->timeout_ms)
        PROBLEM(config, part, "connect_timeout", "must not be more than timeout");
    check_secrets(config, part, "secret", &service->secret);
    check_readable(config, part, "ca_file", service->ca_file);
}

static void check_receive(cli_config *config, const cli_part *part)
{
    static const char *const schemes[] = {"http://", "https://", "unix://", NULL};
    const cli_receive_settings *receive = part->values;
    int ways = (receive->forward != NULL) + (receive->command != NULL) + (receive->enqueue != NULL);

    if (ways != 1)
        cli_config_problem(config,
                           "%s:%d: [receive %s] must have exactly one of forward, command and "
                           "enqueue; it has %d",
                           config->path, part->line, part->name, ways);
    if (receive->forward && !has_scheme(receive->forward, schemes))
        PROBLEM(config, part, "forward", "must begin with http://, https:// or unix://");
    if (receive->destination && !receive->enqueue)
        PROBLEM(config, part, "destination", "requires enqueue");
}

void cli_config_check(cli_config *config)
{
    const cli_part *part = NULL;

    check_database(config);
    check_server(config);
    check_inbox(config);
    check_delivery(config);
    while ((part = cli_config_next(config, CLI_SECTION_SERVICE, part)))
        check_service(config, part);
    while ((part = cli_config_next(config, CLI_SECTION_RECEIVE, part)))
        check_receive(config, part);
}
