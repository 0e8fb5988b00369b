/* src/cli/serve/serve_setup.c - from the configuration to the library's objects: services,
 * receiver, worker, delivery. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "fail.h"
#include "log.h"
#include "scope.h"
#include "serve.h"

/* ---- the worker: maintenance, and the runs of jobs ---- */

static pawl_status run_worker(cli_serve *serve, pawl_error *err)
{
    return pawl_worker_run(serve->worker, err);
}

pawl_status cli_serve_worker(cli_serve *serve, pawl_error *err)
{
    const cli_server_settings *server = cli_config_values(serve->config, CLI_SECTION_SERVER);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    cli_config_fill(serve->config, CLI_LIBRARY_worker, &options);
    options.maintenance_only = true;
    options.concurrency = 1;
    options.grace_ms = server->grace_ms;
    serve->worker_thread =
        (cli_service_thread){.name = "maintenance", .run = run_worker, .serve = serve};
    return pawl_worker_new(serve->store, &options, &serve->worker, err);
}

/* ---- the delivery ---- */

static pawl_status run_delivery(cli_serve *serve, pawl_error *err)
{
    return pawl_delivery_run(serve->delivery, err);
}

pawl_status cli_serve_delivery(cli_serve *serve, pawl_error *err)
{
    const cli_delivery_settings *delivery = cli_config_values(serve->config, CLI_SECTION_DELIVERY);
    const cli_server_settings *server = cli_config_values(serve->config, CLI_SECTION_SERVER);
    pawl_delivery_options options = PAWL_DELIVERY_OPTIONS_INIT;

    cli_config_fill(serve->config, CLI_LIBRARY_delivery, &options);
    options.grace_ms = server->grace_ms;
    options.log = cli_serve_log(serve->config);
    if (!delivery->enabled) {
        cli_serve_say(serve->config, PAWL_LOG_INFO,
                      "delivery is off ([delivery] enabled): messages with a destination wait");
        return PAWL_OK;
    }
    if (!options.source) {
        cli_serve_say(serve->config, PAWL_LOG_WARNING,
                      "delivery is off: messages with a destination wait. To send them, give this "
                      "service a name: service_id in [server], PAWL_SERVER_SERVICE_ID or "
                      "--service-id");
        return PAWL_OK;
    }
    serve->delivery_thread =
        (cli_service_thread){.name = "delivery", .run = run_delivery, .serve = serve};
    return pawl_delivery_new(serve->store, serve->services, &options, &serve->delivery, err);
}

/* ---- the service map ---- */

/* In the order of the setting's choices. */
static pawl_count service_count(const cli_service_settings *from)
{
    static const pawl_count choices[] = {PAWL_COUNT_ANSWERED, PAWL_COUNT_ALL};

    return choices[from->count];
}

/* What is 0 is as the policy of `count` has it. */
static pawl_backoff service_backoff(const cli_service_settings *from)
{
    static const pawl_backoff answered = PAWL_BACKOFF_REMOTE, all = PAWL_BACKOFF_ALL;
    pawl_backoff policy = service_count(from) == PAWL_COUNT_ALL ? all : answered;

    policy.base_ms = from->retry_base_ms;
    if (from->retry_max_ms > 0)
        policy.max_ms = from->retry_max_ms;
    if (policy.max_ms < policy.base_ms)
        policy.max_ms = policy.base_ms;
    if (from->retry_jitter_ms > 0)
        policy.jitter_ms = from->retry_jitter_ms;
    return policy;
}

static pawl_service_options service_options(const cli_part *part)
{
    const cli_service_settings *from = part->values;
    pawl_service_options to = PAWL_SERVICE_OPTIONS_INIT;

    cli_part_fill(part, CLI_LIBRARY_service, &to);
    to.secrets = from->secret.items;
    to.secret_count = from->secret.count;
    to.backoff = service_backoff(from);
    to.count = service_count(from);
    return to;
}

pawl_status cli_serve_services(const cli_config *config, pawl_services **ret_services,
                               pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_service_options *list = cli_alloc(config->part_count + 1, sizeof *list);
    pawl_services_options options = PAWL_SERVICES_OPTIONS_INIT;
    pawl_service_options urls;
    const cli_part *part = NULL;
    size_t count = 0;

    options.map_name = config->path;
    while ((part = cli_config_next(config, CLI_SECTION_SERVICE, part))) {
        pawl_service_options one = service_options(part);
        if (strcmp(part->name, "*") == 0) {
            urls = one;
            options.urls = &urls;
            continue;
        }
        one.name = part->name;
        list[count++] = one;
    }
    return pawl_services_new(list, count, &options, ret_services, err);
}

/* ---- the receiver ---- */

/* With commas between them; NULL: none. malloc'ed. */
static char *join_proxies(const cli_texts *proxies)
{
    size_t size = 1;
    char *joined;
    char *at;

    if (proxies->count == 1 && strcmp(proxies->items[0], "none") == 0)
        return NULL;
    for (size_t i = 0; i < proxies->count; i++)
        size += strlen(proxies->items[i]) + 1;
    joined = at = cli_alloc(size, 1);
    for (size_t i = 0; i < proxies->count; i++)
        at += snprintf(at, size - (size_t)(at - joined), "%s,", proxies->items[i]);
    return joined;
}

static pawl_status add_receive_handler(cli_serve *serve, const cli_part *part,
                                       const pawl_receiver_options *receiver, pawl_error *err)
{
    const cli_receive_settings *receive = part->values;
    const char *topic = receive->topic ? receive->topic : part->name;
    pawl_receive_options options = PAWL_RECEIVE_OPTIONS_INIT;

    if (strcmp(topic, "*") == 0)
        topic = NULL;
    cli_part_fill(part, CLI_LIBRARY_receive, &options);
    if (receive->enqueue) {
        options.timeout_ms = 0;
        return pawl_receiver_enqueue(serve->receiver, topic,
                                     strcmp(receive->enqueue, "*") == 0 ? NULL : receive->enqueue,
                                     receive->destination, &options, err);
    }
    if (receive->forward)
        return pawl_receiver_forward(serve->receiver, topic, receive->forward, &options, err);
    return cli_serve_command_handler(serve->receiver, topic, receive->command,
                                     receiver->max_response_bytes, &serve->signals.before, &options,
                                     err);
}

static void say_listening(const cli_serve *serve, const char *format, ...) PAWL_PRINTF(2, 3);
static void say_listening(const cli_serve *serve, const char *format, ...)
{
    pawl_log_sink log = cli_serve_log(serve->config);
    char url[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(url, sizeof url, format, arguments);
    va_end(arguments);
    pawli_log(&log, PAWL_LOG_INFO, "serve", "listening on {url}", pawli_logged("url", url));
}

static pawl_status listen_on(cli_serve *serve, const cli_server_settings *server, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < server->listen.count && st == PAWL_OK; i++) {
        const char *address = server->listen.items[i];
        int port = 0;
        if (strcmp(address, "none") == 0)
            continue;
        st = pawl_receiver_listen(serve->receiver, address, server->tls_cert, server->tls_key,
                                  &port, err);
        if (st == PAWL_OK)
            say_listening(serve, "%s://%.*s:%d", server->tls_cert ? "https" : "http",
                          (int)(strrchr(address, ':') - address), address, port);
    }
    if (st == PAWL_OK && server->socket) {
        st = pawl_receiver_listen_unix(serve->receiver, server->socket, err);
        if (st == PAWL_OK)
            say_listening(serve, "unix://%s", server->socket);
    }
    return st;
}

/* Logs which parts are not configured, for new users. */
static void say_what_is_off(const cli_serve *serve)
{
    pawl_log_sink log = cli_serve_log(serve->config);

    if (!cli_config_next(serve->config, CLI_SECTION_RECEIVE, NULL))
        cli_serve_say(
            serve->config, PAWL_LOG_INFO,
            "every message is rejected: there is no [receive TOPIC] in the configuration");
    for (size_t i = 0; i < pawl_services_count(serve->services); i++) {
        const pawl_service *service = pawl_services_at(serve->services, i);
        if (serve->delivery && pawl_service_url(service) && pawl_service_secret_count(service) == 0)
            pawli_log(&log, PAWL_LOG_WARNING, "serve",
                      "messages to '{destination}' are not signed: secret in [service "
                      "{destination}] is not "
                      "set",
                      pawli_logged("destination", pawl_service_name(service)));
    }
}

pawl_status cli_serve_receiver(cli_serve *serve, pawl_error *err)
{
    const cli_server_settings *server = cli_config_values(serve->config, CLI_SECTION_SERVER);
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    PAWLI_AUTO_FREE char *proxies = join_proxies(&server->trusted_proxies);
    const cli_part *part = NULL;
    pawl_status st;

    cli_config_fill(serve->config, CLI_LIBRARY_receiver, &options);
    options.trusted_proxies = proxies;
    options.log = cli_serve_log(serve->config);
    st = pawl_receiver_new(serve->store, serve->services, &options, &serve->receiver, err);
    while (st == PAWL_OK && (part = cli_config_next(serve->config, CLI_SECTION_RECEIVE, part)))
        st = add_receive_handler(serve, part, &options, err);
    if (st == PAWL_OK)
        st = pawl_receiver_set_health_sources(serve->receiver, serve->worker, serve->delivery, err);
    if (st == PAWL_OK)
        st = listen_on(serve, server, err);
    if (st == PAWL_OK)
        st = pawl_receiver_start(serve->receiver, err);
    if (st == PAWL_OK)
        say_what_is_off(serve);
    return st;
}
